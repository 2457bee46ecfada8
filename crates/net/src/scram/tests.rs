use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};

use super::*;

/// Lets the client library and this server talk; says how each of them ended.
fn exchange(verifier: Verifier, password: &str) -> Result<(), ScramError> {
    let mut client = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
    let (reply, server) = Server::new(verifier)?.first(client.message())?;
    client.update(reply.as_bytes()).unwrap();
    let last = server.finish(client.message())?;
    client.finish(last.as_bytes()).unwrap();
    Ok(())
}

#[test]
fn the_right_password_proves_both_sides_to_each_other() {
    for password in ["opensesame", "pä\u{a0}sswörd", "\u{2168}", "a\u{7}b", ""] {
        let verifier = Verifier::from_password(password).unwrap();
        assert_eq!(exchange(verifier, password), Ok(()), "{password}");
    }
}

#[test]
fn spellings_that_saslprep_makes_one_are_one_password() {
    let verifier = Verifier::from_password("\u{2168}").unwrap();
    assert_eq!(exchange(verifier, "IX"), Ok(()));
}

#[test]
fn a_wrong_password_and_an_unknown_user_fail_at_the_same_step() {
    let known = Verifier::from_password("opensesame").unwrap();
    assert_eq!(exchange(known, "guess"), Err(ScramError::WrongPassword));
    let mock = Verifier::mock(b"secret", "nobody");
    assert_eq!(
        exchange(mock.clone(), "guess"),
        Err(ScramError::WrongPassword)
    );
    assert_eq!(mock.salt(), Verifier::mock(b"secret", "nobody").salt());
    assert_ne!(mock.salt(), Verifier::mock(b"secret", "somebody").salt());
}

#[test]
fn a_verifier_is_read_as_postgresql_writes_it() {
    // Made by PostgreSQL 15 for the password "opensesame".
    let text = POSTGRESQL_VERIFIER;
    let verifier: Verifier = text.parse().unwrap();
    assert_eq!(verifier.to_secret_text(), text);
    assert_eq!(format!("{verifier:?}"), "***");
    assert_eq!(exchange(verifier, "opensesame"), Ok(()));
    for bad in [
        "",
        "md5abc",
        "SCRAM-SHA-256$0:YQ==$YQ==:YQ==",
        "SCRAM-SHA-256$4096:YQ==$YQ==:YQ==",
    ] {
        assert_eq!(bad.parse::<Verifier>(), Err(VerifierError), "{bad}");
    }
}

#[test]
fn what_is_not_scram_is_refused() {
    let first = |message: &str| {
        let verifier = Verifier::mock(b"secret", "u");
        Server::new(verifier)
            .unwrap()
            .first(message.as_bytes())
            .map(|_| ())
            .unwrap_err()
    };
    for message in [
        "",
        "n",
        "n,,",
        "n,,n=",
        "n,,n=u,r=",
        "n,,r=abc",
        "x,,n=,r=abc",
        "n,,n=,r=a\u{1}",
    ] {
        assert_eq!(first(message), ScramError::Malformed, "{message}");
    }
    assert_eq!(
        first("p=tls-server-end-point,,n=,r=abc"),
        ScramError::ChannelBinding
    );
    assert_eq!(
        first("n,a=root,n=,r=abc"),
        ScramError::AuthorizationIdentity
    );

    let verifier = Verifier::from_password("p").unwrap();
    for last in [
        "",
        "c=biws",
        "c=biws,r=abc,p=YQ==",
        "c=eSws,r=abc,p=",
        "c=biws,r=abc,p=!",
    ] {
        let (_, server) = Server::new(verifier.clone())
            .unwrap()
            .first(b"n,,n=,r=abc")
            .unwrap();
        assert_eq!(
            server.finish(last.as_bytes()),
            Err(ScramError::Malformed),
            "{last}"
        );
    }
}

const POSTGRESQL_VERIFIER: &str = "SCRAM-SHA-256$4096:LxQG+2ED5vqNekJnGmmShg==$eP8FjgBDiazbevs9hXW2JzIns4dcYcxy2kprHKf0BUU=:5RKdPy64UJ8FTmbciIbjwwY8s/0ODDHxLMT6MGdG3U8=";

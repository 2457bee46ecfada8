use bytes::Bytes;
use pg::{Diagnose as _, SqlState};
use wire::backend::Authentication;

use super::*;
use crate::auth::{self, Method};
use crate::scram::Verifier;
use crate::{ConnectionError, Listener};

const TIMEOUT: Duration = Duration::from_secs(10);

fn login(password: Option<&str>) -> Login {
    Login {
        user: "maja".to_owned(),
        database: "shop".to_owned(),
        password: password.map(|text| Secret::new(text.to_owned())),
        parameters: vec![("application_name".to_owned(), "kintsugi".to_owned())],
    }
}

/// A server that lets one client in by `method`, or doesn't.
async fn serve(listener: Listener, method: Method) -> Result<SessionStart, auth::AuthError> {
    let mut client = Connection::new(listener.accept().await.unwrap());
    let Some(Startup::Session(start)) = client.read_startup().await.unwrap() else {
        panic!()
    };
    let user = start.parameter("user").unwrap().to_owned();
    if let Err(error) = auth::authenticate(&mut client, &user, method).await {
        let shown = error.to_diagnostic();
        wire::backend::error_response(client.output(), &shown);
        client.close().await;
        return Err(error);
    }
    for message in [
        Message::ParameterStatus {
            name: "server_version",
            value: "15.9",
        },
        Message::BackendKeyData {
            pid: 7,
            secret: b"1234",
        },
        Message::ReadyForQuery(TransactionStatus::Idle),
    ] {
        message.encode(client.output());
    }
    client.flush().await.unwrap();
    Ok(start)
}

async fn listener() -> (Listener, Address) {
    let listener = Listener::bind(&Address::tcp("127.0.0.1", 0)).await.unwrap();
    let address = listener.address().unwrap();
    (listener, address)
}

#[tokio::test]
async fn scram_lets_in_who_knows_the_password() {
    let (listener, address) = listener().await;
    let method = Method::Scram(Verifier::from_password("opensesame").unwrap());
    let login = login(Some("opensesame"));
    let (start, backend) =
        tokio::join!(serve(listener, method), connect(&address, &login, TIMEOUT));
    assert_eq!(
        start.unwrap().parameter("application_name"),
        Some("kintsugi")
    );
    let backend = backend.unwrap();
    assert_eq!(backend.parameters["server_version"], "15.9");
    assert_eq!(
        backend.key,
        CancelKey {
            pid: 7,
            secret: Bytes::from_static(b"1234")
        }
    );
}

#[tokio::test]
async fn a_wrong_password_is_28p01_for_known_and_unknown_users_alike() {
    for verifier in [
        Verifier::from_password("opensesame").unwrap(),
        Verifier::mock(b"secret", "maja"),
    ] {
        let (listener, address) = listener().await;
        let login = login(Some("guess"));
        let (served, refused) = tokio::join!(
            serve(listener, Method::Scram(verifier)),
            connect(&address, &login, TIMEOUT)
        );
        let error = served.unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::INVALID_PASSWORD);
        let refused = refused.unwrap_err();
        let shown = refused.refusal().unwrap();
        assert_eq!(
            shown.to_string(),
            "FATAL 28P01: password authentication failed for user \"maja\""
        );
    }
}

#[tokio::test]
async fn trust_asks_for_nothing() {
    let (listener, address) = listener().await;
    let login = login(None);
    let (start, backend) = tokio::join!(
        serve(listener, Method::Trust),
        connect(&address, &login, TIMEOUT)
    );
    assert!(start.is_ok() && backend.is_ok());
}

#[tokio::test]
async fn a_password_that_is_missing_is_named() {
    let (listener, address) = listener().await;
    let login = login(None);
    let method = Method::Scram(Verifier::from_password("opensesame").unwrap());
    let (served, refused) =
        tokio::join!(serve(listener, method), connect(&address, &login, TIMEOUT));
    assert!(matches!(served, Err(auth::AuthError::Left)));
    assert!(matches!(refused, Err(ConnectError::PasswordMissing { .. })));
}

/// What becomes of a client whose server sends `messages` after the start-up packet.
async fn against(messages: &[Message<'_>]) -> ConnectError {
    let (listener, address) = listener().await;
    let login = login(Some("opensesame"));
    let serve = async {
        let mut client = Connection::new(listener.accept().await.unwrap());
        client.read_startup().await.unwrap();
        for message in messages {
            message.encode(client.output());
        }
        client.flush().await.unwrap();
        client.hangup(1).await;
    };
    let ((), refused) = tokio::join!(serve, connect(&address, &login, TIMEOUT));
    refused.unwrap_err()
}

#[tokio::test]
async fn a_server_that_skips_the_proof_is_not_believed() {
    let offer = || {
        Message::Authentication(Authentication::Sasl {
            mechanisms: vec!["SCRAM-SHA-256"],
        })
    };
    let skipped = against(&[offer(), Message::Authentication(Authentication::Ok)]).await;
    assert!(
        matches!(skipped, ConnectError::Unexpected { tag: b'R', .. }),
        "{skipped}"
    );
    let early = against(&[Message::ReadyForQuery(TransactionStatus::Idle)]).await;
    assert!(
        matches!(early, ConnectError::Unexpected { tag: b'Z', .. }),
        "{early}"
    );
    let step = Message::Authentication(Authentication::SaslContinue(b"r=x,s=YQ==,i=1"));
    let forged = against(&[offer(), step]).await;
    assert!(matches!(forged, ConnectError::Unproven { .. }), "{forged}");
    let other = Message::Authentication(Authentication::Other { code: 7, data: b"" });
    assert!(matches!(
        against(&[other]).await,
        ConnectError::Method { .. }
    ));
}

#[tokio::test]
async fn nobody_there_is_08001() {
    let (listener, address) = listener().await;
    drop(listener);
    let error = connect(&address, &login(None), TIMEOUT).await.unwrap_err();
    assert!(matches!(error, ConnectError::Dial { .. }));
    assert_eq!(error.sqlstate().as_str(), "08001");
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let (listener, address) = listener().await;
    let error = connect(&address, &login(None), Duration::from_millis(30))
        .await
        .unwrap_err();
    assert!(matches!(error, ConnectError::Timeout { .. }));
    drop(listener);
}

#[tokio::test]
async fn a_cancel_request_carries_the_key() {
    let (listener, address) = listener().await;
    let key = CancelKey {
        pid: 7,
        secret: Bytes::from_static(b"12345678"),
    };
    let serve = async {
        let mut client = Connection::new(listener.accept().await.unwrap());
        client.read_startup().await.unwrap()
    };
    let (packet, sent) = tokio::join!(serve, cancel(&address, &key, TIMEOUT));
    sent.unwrap();
    assert_eq!(packet, Some(Startup::Cancel(key)));
}

#[tokio::test]
async fn a_server_that_leaves_is_an_error() {
    let (listener, address) = listener().await;
    let serve = async {
        let mut client = Connection::new(listener.accept().await.unwrap());
        client.read_startup().await.unwrap();
        client.close().await;
    };
    let login = login(None);
    let ((), error) = tokio::join!(serve, connect(&address, &login, TIMEOUT));
    let ConnectError::Exchange { source, .. } = error.unwrap_err() else {
        panic!()
    };
    assert!(matches!(source, ConnectionError::Truncated));
}

//! Two properties of every message: what is written is read back, and no bytes make a reader panic.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use bytes::BytesMut;
use pg::{Diagnostic, Format, Oid, SqlState};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::backend::{self, Authentication, CopyFormats, Field, TransactionStatus};
use wire::frontend::{self, BindParts, SaslInitial, Target};
use wire::startup::{CancelKey, SessionStart};
use wire::{Limits, Startup, rewrite, scan};

/// Text as it can stand in a message.
fn text() -> impl Strategy<Value = String> {
    "[^\0]{0,12}"
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..20)
}

fn formats() -> impl Strategy<Value = Vec<Format>> {
    vec(prop_oneof![Just(Format::Text), Just(Format::Binary)], 0..4)
}

/// Takes the one message that `written` holds.
fn frame_of(mut written: BytesMut, limits: &Limits) -> wire::Frame {
    let head = scan::next(&written, limits).unwrap().unwrap();
    assert_eq!(head.len, written.len());
    let frame = wire::decode(&mut written, limits).unwrap().unwrap();
    assert!(written.is_empty());
    let mut again = BytesMut::new();
    frame.encode(&mut again);
    assert_eq!(wire::decode(&mut again, limits).unwrap().unwrap(), frame);
    frame
}

fn check_frontend(message: &frontend::Message<'_>) {
    let mut written = BytesMut::new();
    message.encode(&mut written);
    let frame = frame_of(written, &Limits::frontend());
    assert_eq!(
        &frontend::Message::parse(frame.tag, &frame.body).unwrap(),
        message
    );
    assert!(!message.to_string().contains('\n'));
}

fn check_backend(message: &backend::Message<'_>) {
    let mut written = BytesMut::new();
    message.encode(&mut written);
    let frame = frame_of(written, &Limits::backend());
    assert_eq!(
        &backend::Message::parse(frame.tag, &frame.body).unwrap(),
        message
    );
}

#[test]
fn messages_without_fields_come_back() {
    use backend::Message as B;
    use frontend::Message as F;
    for message in [F::CopyDone, F::Flush, F::Sync, F::Terminate] {
        check_frontend(&message);
    }
    for message in [
        B::BindComplete,
        B::CloseComplete,
        B::CopyDone,
        B::EmptyQueryResponse,
        B::NoData,
        B::ParseComplete,
        B::PortalSuspended,
        B::ReadyForQuery(TransactionStatus::Failed),
        B::FunctionCallResponse(None),
        B::Authentication(Authentication::Ok),
        B::Authentication(Authentication::CleartextPassword),
    ] {
        check_backend(&message);
    }
}

proptest! {
    #[test]
    fn frontend_messages_come_back(a in text(), b in text(), raw in bytes(), number: i32) {
        use frontend::Message as F;
        for target in [Target::Statement, Target::Portal] {
            check_frontend(&F::Close { target, name: &a });
            check_frontend(&F::Describe { target, name: &b });
        }
        check_frontend(&F::CopyData(&raw));
        check_frontend(&F::Password(&raw));
        check_frontend(&F::CopyFail { reason: &a });
        check_frontend(&F::Execute { portal: &a, rows_max: number });
        check_frontend(&F::Query { text: &b });
        let function = Oid(number.cast_unsigned());
        check_frontend(&F::FunctionCall { function, arguments: &raw });
    }

    #[test]
    fn parse_comes_back(name in text(), query in text(), types in vec(any::<u32>(), 0..5)) {
        let types: Vec<Oid> = types.into_iter().map(Oid).collect();
        let mut written = BytesMut::new();
        frontend::parse(&mut written, &name, &query, &types);
        let frame = frame_of(written, &Limits::frontend());
        let message = frontend::Message::parse(frame.tag, &frame.body).unwrap();
        let frontend::Message::Parse(parse) = &message else { panic!() };
        prop_assert_eq!((parse.name, parse.query), (name.as_str(), query.as_str()));
        prop_assert_eq!(parse.types.iter().collect::<Vec<_>>(), types);
        check_frontend(&message);
    }

    #[test]
    fn bind_comes_back(
        portal in text(),
        statement in text(),
        parameter_formats in formats(),
        values in vec(proptest::option::of(bytes()), 0..5),
        result_formats in formats(),
        renamed in text(),
    ) {
        let parameters: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
        let parts = BindParts {
            portal: &portal,
            statement: &statement,
            parameter_formats: &parameter_formats,
            parameters: &parameters,
            result_formats: &result_formats,
        };
        let mut written = BytesMut::new();
        frontend::bind(&mut written, &parts);
        let frame = frame_of(written, &Limits::frontend());
        let message = frontend::Message::parse(frame.tag, &frame.body).unwrap();
        let frontend::Message::Bind(bind) = &message else { panic!() };
        prop_assert_eq!(bind.parameters().collect::<Vec<_>>(), parameters.clone());
        prop_assert_eq!(bind.parameter_count(), parameters.len());
        prop_assert_eq!(bind.result_formats.iter().collect::<Vec<_>>(), result_formats);
        for (at, value) in parameters.iter().enumerate() {
            prop_assert_eq!(bind.parameter(at).unwrap().0, *value);
        }
        check_frontend(&message);

        let mut out = BytesMut::new();
        rewrite::rename_statement(frame.tag, &frame.body, &renamed, &mut out).unwrap();
        let frame = frame_of(out, &Limits::frontend());
        let name = rewrite::statement_of(frame.tag, &frame.body).unwrap();
        prop_assert_eq!(name, Some(renamed.as_str()));
    }

    #[test]
    fn backend_messages_come_back(a in text(), b in text(), raw in bytes(), number: i32) {
        use backend::Message as B;
        check_backend(&B::BackendKeyData { pid: number, secret: &raw });
        check_backend(&B::CommandComplete { tag: &a });
        check_backend(&B::CopyData(&raw));
        check_backend(&B::FunctionCallResponse(Some(&raw)));
        check_backend(&B::NegotiateProtocolVersion { newest_minor: 0, unknown: vec![&a, &b] });
        check_backend(&B::NotificationResponse { pid: number, channel: &a, payload: &b });
        check_backend(&B::ParameterStatus { name: &a, value: &b });
        check_backend(&B::ParameterDescription { types: vec![Oid(number.cast_unsigned()); 3] });
        let salt = number.to_be_bytes();
        check_backend(&B::Authentication(Authentication::Md5Password { salt }));
        check_backend(&B::Authentication(Authentication::SaslContinue(&raw)));
        check_backend(&B::Authentication(Authentication::SaslFinal(&raw)));
        check_backend(&B::Authentication(Authentication::Other { code: 7, data: &raw }));
        if !a.is_empty() {
            let mechanisms = vec![a.as_str()];
            check_backend(&B::Authentication(Authentication::Sasl { mechanisms }));
        }
        let table_column = Field {
            name: &a,
            table: Oid(number.cast_unsigned()),
            column: 3,
            type_oid: pg::oid::TEXT,
            type_size: -1,
            typmod: number,
            format: Format::Binary,
        };
        let computed = Field::computed(&b, pg::oid::INT4, 4, Format::Text);
        check_backend(&B::RowDescription(vec![table_column, computed]));
        let shown = Diagnostic::error(SqlState::UNIQUE_VIOLATION, a).detail(b);
        check_backend(&B::ErrorResponse(Box::new(shown.clone())));
        check_backend(&B::NoticeResponse(Box::new(shown)));
    }

    #[test]
    fn rows_and_copy_formats_come_back(
        values in vec(proptest::option::of(bytes()), 0..6),
        columns in formats(),
    ) {
        let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
        let mut written = BytesMut::new();
        backend::data_row(&mut written, values.iter().copied());
        let frame = frame_of(written, &Limits::backend());
        let message = backend::Message::parse(frame.tag, &frame.body).unwrap();
        let backend::Message::DataRow(row) = &message else { panic!() };
        prop_assert_eq!(row.columns().collect::<Vec<_>>(), values);
        check_backend(&message);
        let formats = CopyFormats { overall: Format::Binary, columns };
        check_backend(&backend::Message::CopyInResponse(formats.clone()));
        check_backend(&backend::Message::CopyOutResponse(formats.clone()));
        check_backend(&backend::Message::CopyBothResponse(formats));
    }

    #[test]
    fn startup_packets_come_back(
        minor in 0u16..4,
        parameters in vec(("[a-z_]{1,8}", text()), 0..4),
        pid: i32,
        secret in vec(any::<u8>(), 4..257),
    ) {
        let key = CancelKey { pid, secret: secret.into() };
        for packet in [
            Startup::SslRequest,
            Startup::GssEncRequest,
            Startup::Cancel(key),
            Startup::Session(SessionStart { minor, parameters }),
        ] {
            let mut written = BytesMut::new();
            packet.encode(&mut written);
            prop_assert_eq!(wire::startup::decode(&mut written), Ok(Some(packet)));
            prop_assert!(written.is_empty());
        }
    }

    #[test]
    fn passwords_come_back(mechanism in text(), data in bytes(), password in vec(1u8.., 0..20)) {
        let mut written = BytesMut::new();
        frontend::sasl_initial(&mut written, &mechanism, &data);
        let read = SaslInitial::parse(&written[5..]).unwrap();
        prop_assert_eq!(read, SaslInitial { mechanism: &mechanism, data: Some(&data) });
        written.clear();
        frontend::password(&mut written, &password);
        prop_assert_eq!(frontend::password_of(&written[5..]), Ok(&password[..]));
    }

    #[test]
    fn no_body_panics(tag: u8, body in vec(any::<u8>(), 0..60)) {
        if let Ok(message) = frontend::Message::parse(tag, &body) {
            let _ = message.to_string();
            if let frontend::Message::Bind(bind) = message {
                let _ = bind.parameters().count();
                let _ = bind.parameter(usize::MAX);
                let _ = bind.result_formats.of(usize::MAX);
            }
        }
        if let Ok(message) = backend::Message::parse(tag, &body) {
            let _ = message.to_string();
        }
        if let Ok(row) = backend::DataRow::unchecked(&body) {
            let _ = row.columns().count();
        }
        let _ = SaslInitial::parse(&body);
        let _ = frontend::password_of(&body);
        let _ = rewrite::statement_of(tag, &body);
        let _ = rewrite::add_context(tag, &body, "shard", &mut BytesMut::new());
        let _ = rewrite::rename_statement(tag, &body, "s", &mut BytesMut::new());
    }

    #[test]
    fn small_counts_before_nonsense_do_not_panic(
        tag in prop::sample::select(&b"BPDCEFQRKTtAvVGSZ"[..]),
        front in vec(0u8..4, 0..12),
        back in vec(any::<u8>(), 0..30),
    ) {
        let body = [front, back].concat();
        let _ = frontend::Message::parse(tag, &body).map(|message| message.to_string());
        let _ = backend::Message::parse(tag, &body).map(|message| message.to_string());
    }

    #[test]
    fn no_stream_panics(bytes in vec(any::<u8>(), 0..60)) {
        for limits in [Limits::frontend(), Limits::backend()] {
            let mut buffer = BytesMut::from(&bytes[..]);
            while let Ok(Some(_)) = wire::decode(&mut buffer, &limits) {}
            let _ = scan::run(&bytes, &limits, |_| true);
        }
        let _ = wire::startup::decode(&mut BytesMut::from(&bytes[..]));
    }
}

#[test]
fn a_run_of_whole_messages_stops_at_the_one_cut_short() {
    let mut stream = BytesMut::new();
    for value in [&b"1"[..], b"22", b"333"] {
        backend::data_row(&mut stream, [Some(value)].into_iter());
    }
    let whole = stream.len();
    let run = scan::run(&stream[..whole - 1], &Limits::backend(), |tag| tag == b'D').unwrap();
    assert_eq!(run.count, 2);
}

use proptest::prelude::*;

use super::*;

/// PostgreSQL's own lexer, as the parser's library exposes it.
mod oracle {
    use std::ffi::{CString, c_char, c_void};

    #[repr(C)]
    struct ScanResult {
        length: usize,
        data: *mut u8,
        stderr: *mut c_char,
        error: *mut c_void,
    }

    #[expect(
        unsafe_code,
        reason = "the lexer is in the parser's library, without bindings"
    )]
    unsafe extern "C" {
        fn pg_query_scan(input: *const c_char) -> ScanResult;
        fn pg_query_free_scan_result(result: ScanResult);
    }

    /// A token: its number in the grammar, and where it lies.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Token {
        pub(super) start: u32,
        pub(super) end: u32,
        pub(super) number: u32,
    }

    /// The tokens, comments included; `None` when the lexer refuses the text.
    pub(super) fn scan(text: &str) -> Option<Vec<Token>> {
        let text = CString::new(text).ok()?;
        // SAFETY: the text is a C string; the result is read before it is freed, once.
        #[expect(unsafe_code, reason = "see above")]
        unsafe {
            let result = pg_query_scan(text.as_ptr());
            let tokens = result
                .error
                .is_null()
                .then(|| decode(std::slice::from_raw_parts(result.data, result.length)));
            pg_query_free_scan_result(result);
            tokens
        }
    }

    /// `message ScanResult { int32 version = 1; repeated ScanToken tokens = 2; }`
    fn decode(mut bytes: &[u8]) -> Vec<Token> {
        let mut tokens = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let value = varint(&mut bytes) as usize;
            if tag == 0x12 {
                tokens.push(token(&bytes[..value]));
                bytes = &bytes[value..];
            }
        }
        tokens
    }

    /// `message ScanToken { int32 start = 1; int32 end = 2; Token token = 4; KeywordKind keyword_kind = 5; }`
    fn token(mut bytes: &[u8]) -> Token {
        let mut token = Token::default();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let value = varint(&mut bytes);
            match tag >> 3 {
                1 => token.start = value,
                2 => token.end = value,
                4 => token.number = value,
                _ => {}
            }
        }
        token
    }

    fn varint(bytes: &mut &[u8]) -> u32 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        u32::try_from(value).unwrap()
    }
}

/// What our kinds are called in the grammar: the numbers that a token of this kind may have.
fn fits(kind: TokenKind, number: u32) -> bool {
    match kind {
        TokenKind::Word => number == 258 || number > 276,
        TokenKind::QuotedWord => number == 258,
        TokenKind::UnicodeWord => number == 259,
        TokenKind::String | TokenKind::EscapeString | TokenKind::DollarString => number == 261,
        TokenKind::UnicodeString => number == 262,
        TokenKind::BitString => number == 263,
        TokenKind::HexString => number == 264,
        TokenKind::Integer => number == 266 || number == 260,
        TokenKind::Decimal => number == 260,
        TokenKind::Param => number == 267,
        TokenKind::Operator => {
            number == 265
                || (271..=274).contains(&number)
                || (number < 128 && b"+-*/%^<>=".contains(&u8::try_from(number).unwrap()))
        }
        TokenKind::Punctuation => {
            (268..=270).contains(&number)
                || (number < 128 && b"()[],;:.".contains(&u8::try_from(number).unwrap()))
        }
        TokenKind::Invalid => number < 128,
    }
}

/// Ours against PostgreSQL's. Escapes inside strings, and how large a parameter's number is, only PostgreSQL judges.
fn check(text: &str) -> Result<(), String> {
    let ours = tokens(text, true);
    let invalid = ours.iter().any(|token| token.kind == TokenKind::Invalid);
    let blanked = without_comments_in_strings(text, &ours);
    let Some(theirs) = oracle::scan(blanked.as_deref().unwrap_or(text)) else {
        let judged = ours.iter().any(|token| {
            let escape = token.kind == TokenKind::EscapeString && token.text(text).contains('\\');
            escape || (token.kind == TokenKind::Param && token.text(text).len() > 9)
        });
        return if invalid || judged {
            Ok(())
        } else {
            Err(format!("refused, but we have {ours:?}"))
        };
    };
    let theirs: Vec<_> = theirs
        .into_iter()
        .filter(|token| token.number != 275 && token.number != 276)
        .collect();
    for (index, token) in ours.iter().enumerate() {
        let Some(other) = theirs.get(index) else {
            return Err(format!("{token:?} is not there"));
        };
        let same = token.span.start == other.start && token.span.end == other.end;
        if !fits(token.kind, other.number) || (!same && token.kind != TokenKind::Invalid) {
            return Err(format!("{token:?} is {other:?}"));
        }
        if token.kind == TokenKind::Invalid {
            return Ok(());
        }
    }
    if theirs.len() > ours.len() {
        return Err(format!("{:?} is missing", theirs[ours.len()]));
    }
    Ok(())
}

#[test]
fn known_texts_are_cut_as_postgres_cuts_them() {
    for text in [
        "",
        "select 'a''b' 'c'",
        "select 'a'\n'b', 'a' -- c\n 'b', 'a' /* c */ 'b', 'a' \t\r 'b'",
        "e'\\'' E'a\\\\' e'a'\n'b\\''",
        "b'01'\n'10' x'1F' B'0''1' n'abc' N'a' nchar 'b'",
        "u&'\\0041' uescape '!' U&\"a\"\"b\" u & 'x' u&x",
        "$$a$$ $a$ $b$ $$ $a$ $a$a$ $1 $12 a$1 $é$x$é$ $a",
        "$a $ 1",
        "1 1. .5 1.5 1e10 1E-5 1.e+3 1..10 1_000 1_000.5_0 0x1F 0X_1f 0b101 0o17 1.5.5 5.",
        "1a",
        "1_",
        "1__0",
        "0x",
        "0xg",
        "0b2",
        "1e",
        "1e+",
        "1.5e",
        "1.a",
        "1e5x",
        "$1a",
        "1._5",
        "0x1.5",
        "00_1",
        "a-1 a--1\n a- -1 a/*x*/b a/b a*/ /* /* */ */ /* /* */",
        "<= >= <> != => := :: .. . : ; , = <=> <-> @> ->> #- !- +- *- *+ *-- x\n /-/*c*/ @- @+ ~-- x",
        "a<-1 a>-1 a=-1 a@-1 a||-1 a?-1 1-1 1--1",
        "\"a\"\"b\" \"\" x",
        "\"\"\"\"",
        "ünï _a a_$1 aE'x' aé'",
        "a\u{b}b a\u{c}b a\u{a0}b",
        "\\ a",
        "{ a",
        "a ` b",
        "'a",
        "\"a",
        "$$a",
        "/* a",
        "e'a\\'",
        "u&'a",
        "b'0",
        "a'b'",
        "1'b'",
        "'a'b",
        "'a'1",
        "~!@#^&|`?%<>=+-*/ ~!@#^&|`?%<>=+-",
        ">=-",
        "=-+-+",
        "!=-",
        "?-+",
        "<--x",
        "a--b\rc",
        "--",
        "/**/",
        "-",
        "/",
        "//**/",
    ] {
        if let Err(error) = check(text) {
            panic!("{text:?}: {error}");
        }
    }
    let operator = "+".repeat(63) + "=";
    assert_eq!(check(&operator), Ok(()));
    assert!(check(&operator[1..]).is_ok());
}

#[test]
fn backslashes_escape_where_strings_do_not_conform() {
    let text = r"'a\'b' n'c\'d'";
    let kinds: Vec<_> = tokens(text, false).iter().map(|token| token.kind).collect();
    assert_eq!(
        kinds,
        [
            TokenKind::EscapeString,
            TokenKind::Word,
            TokenKind::EscapeString
        ]
    );
    assert_eq!(tokens("u&'a'", false)[0].kind, TokenKind::Invalid);
}

fn fragment() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "'", "''", "\"", "\\", "$$", "$a$", "$1", "--", "/*", "*/", "\n", " ", "\t", "\r", "e'",
        "E'", "u&'", "U&\"", "b'", "x'", "n'", "1", "0x", "1e", "_", ".", "..", "::", ":=", ":",
        "=", "<", ">", "!", "@", "-", "+", "*", "/", "%", "?", "|", "&", "~", "#", "`", "^", "a",
        "é", "uescape", ";", ",", "(", ")", "[", "]", "0", "9", "\\x", "{",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fragments_are_cut_as_postgres_cuts_them(parts in prop::collection::vec(fragment(), 0..14)) {
        let text = parts.concat();
        prop_assert_eq!(check(&text), Ok(()), "{:?}", text);
    }

    #[test]
    fn any_text_is_cut_as_postgres_cuts_it(text in "[ -~\n]{0,30}") {
        prop_assert_eq!(check(&text), Ok(()), "{:?}", text);
    }
}

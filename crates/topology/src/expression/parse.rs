//! From tokens to a [`KeyExpression`]. What the small grammar does not cover becomes opaque text, as
//! long as its parentheses match and it names a column.

use super::lex::{self, Token};
use super::{ExpressionError, Function, KeyExpression};

/// Deepest nesting that is taken apart; deeper ones are opaque.
const DEPTH_MAX: usize = 16;
const TEXT_TYPES: &[&str] = &["text"];
struct Parser<'t> {
    tokens: &'t [Token],
    next: usize,
    depth: usize,
}

/// Reads one expression.
pub(super) fn parse(text: &str) -> Result<KeyExpression, ExpressionError> {
    let tokens = lex::tokens(text)?;
    if tokens.is_empty() {
        return Err(ExpressionError {
            reason: "it is empty",
        });
    }
    check_nesting(&tokens)?;
    let mut parser = Parser {
        tokens: &tokens,
        next: 0,
        depth: 0,
    };
    let parsed = parser.expression().filter(|_| parser.next == tokens.len());
    let expression = parsed.unwrap_or_else(|| opaque(&tokens));
    if expression.columns().is_empty() {
        return Err(ExpressionError {
            reason: "it uses no column",
        });
    }
    Ok(expression)
}

// === impl Parser ===

impl Parser<'_> {
    fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.tokens.get(self.next), Some(Token::Symbol(s)) if s == symbol);
        self.next += usize::from(found);
        found
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.get(self.next), Some(Token::Word(w)) if w == word);
        self.next += usize::from(found);
        found
    }

    fn expression(&mut self) -> Option<KeyExpression> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let mut left = self.cast()?;
        while self.symbol("%") {
            let right = self.cast()?;
            left = KeyExpression::Call {
                function: Function::Modulo,
                arguments: vec![left, right],
            };
        }
        self.depth -= 1;
        Some(left)
    }

    fn cast(&mut self) -> Option<KeyExpression> {
        let mut operand = self.primary()?;
        while self.symbol("::") {
            operand = self.cast_to_text(operand)?;
        }
        Some(operand)
    }

    fn cast_to_text(&mut self, operand: KeyExpression) -> Option<KeyExpression> {
        match self.tokens.get(self.next) {
            Some(Token::Word(name)) if TEXT_TYPES.contains(&name.as_str()) => {}
            _ => return None,
        }
        self.next += 1;
        Some(KeyExpression::Call {
            function: Function::Text,
            arguments: vec![operand],
        })
    }

    fn primary(&mut self) -> Option<KeyExpression> {
        if self.symbol("(") {
            let inner = self.expression()?;
            return self.symbol(")").then_some(inner);
        }
        if self.symbol("-") {
            return self.number(true);
        }
        match self.tokens.get(self.next)? {
            Token::Number(_) => self.number(false),
            Token::String(text) => {
                self.next += 1;
                Some(KeyExpression::Text(text.clone()))
            }
            Token::Quoted(name) => {
                self.next += 1;
                Some(KeyExpression::Column(name.clone()))
            }
            Token::Word(word) => self.call_or_column(word),
            Token::Symbol(_) => None,
        }
    }

    fn number(&mut self, negative: bool) -> Option<KeyExpression> {
        let Some(Token::Number(digits)) = self.tokens.get(self.next) else {
            return None;
        };
        self.next += 1;
        let sign = if negative { "-" } else { "" };
        format!("{sign}{digits}")
            .parse()
            .ok()
            .map(KeyExpression::Integer)
    }

    fn call_or_column(&mut self, word: &str) -> Option<KeyExpression> {
        self.next += 1;
        if word == "cast" {
            return self.cast_call();
        }
        if !self.symbol("(") {
            let column = !lex::is_keyword(word);
            return column.then(|| KeyExpression::Column(word.to_owned()));
        }
        let mut arguments = vec![self.expression()?];
        while self.symbol(",") {
            arguments.push(self.expression()?);
        }
        if !self.symbol(")") {
            return None;
        }
        let function = Function::called(word, arguments.len())?;
        Some(KeyExpression::Call {
            function,
            arguments,
        })
    }

    fn cast_call(&mut self) -> Option<KeyExpression> {
        if !self.symbol("(") {
            return None;
        }
        let operand = self.expression()?;
        if !self.word("as") {
            return None;
        }
        let cast = self.cast_to_text(operand)?;
        self.symbol(")").then_some(cast)
    }
}

fn check_nesting(tokens: &[Token]) -> Result<(), ExpressionError> {
    let mut depth = 0_usize;
    for token in tokens {
        match token {
            Token::Symbol(symbol) if symbol == "(" => depth += 1,
            Token::Symbol(symbol) if symbol == ")" => {
                depth = depth.checked_sub(1).ok_or(ExpressionError {
                    reason: "a parenthesis is closed twice",
                })?;
            }
            Token::Symbol(symbol) if symbol == "," && depth == 0 => {
                return Err(ExpressionError {
                    reason: "it holds more than one expression",
                });
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(ExpressionError {
            reason: "a parenthesis is not closed",
        });
    }
    Ok(())
}

/// Normalised text of any tokens, with every word that can be a column.
fn opaque(tokens: &[Token]) -> KeyExpression {
    let mut text = String::new();
    let mut columns: Vec<String> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &tokens[before]);
        if before.is_some_and(|before| is_spaced(before, token)) {
            text.push(' ');
        }
        text.push_str(&token.to_string());
        if let Some(column) = column_of(before, token, tokens.get(index + 1))
            && !columns.contains(&column)
        {
            columns.push(column);
        }
    }
    KeyExpression::Opaque { text, columns }
}

fn is_symbol(token: Option<&Token>, symbols: &[&str]) -> bool {
    matches!(token, Some(Token::Symbol(symbol)) if symbols.contains(&symbol.as_str()))
}

fn column_of(before: Option<&Token>, token: &Token, after: Option<&Token>) -> Option<String> {
    let type_name = is_symbol(before, &["::"])
        || matches!(before, Some(Token::Word(word)) if word == "as" || word == "collate");
    if type_name || is_symbol(after, &["(", "."]) {
        return None;
    }
    match token {
        Token::Quoted(name) => Some(name.clone()),
        Token::Word(word) if !lex::is_keyword(word) => Some(word.clone()),
        _ => None,
    }
}

/// Whether a blank stands between two tokens: `f(a, b)`, `a || b`, `case when a then b end`.
fn is_spaced(before: &Token, token: &Token) -> bool {
    let after_opening = is_symbol(Some(before), &["(", "::", ".", "["]);
    let before_closing = is_symbol(Some(token), &[")", "::", ".", "[", "]", ","]);
    let is_name = match before {
        Token::Word(word) => !lex::is_keyword(word),
        Token::Quoted(_) => true,
        Token::String(_) | Token::Number(_) | Token::Symbol(_) => false,
    };
    let call = is_name && is_symbol(Some(token), &["("]);
    !(after_opening || before_closing || call)
}

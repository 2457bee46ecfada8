//! Errors that are made where they are raised: `Diagnostic::error(code, message)`, and refusals of the session's own.

use syn::Expr;
use syn::visit::{self, Visit};

use crate::source::{self, Locals, Source};

/// One place that makes an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Raised {
    /// Names of SQLSTATEs, as constants of `SqlState`.
    pub(crate) states: Vec<String>,
    /// What the client reads, with `{...}` where data goes.
    pub(crate) message: String,
    /// The stable id and reason of a refusal, as in the detail: `id` or `id: reason`.
    pub(crate) refusal: Option<String>,
    /// The way out.
    pub(crate) hint: Option<String>,
    /// The crate that raises it.
    pub(crate) crate_name: String,
}

/// What a refusal's detail begins with.
pub(crate) const PREFIX: &str = "kintsugi/";

/// Every error made on the spot.
pub(crate) fn collect(sources: &[Source]) -> Vec<Raised> {
    let mut all = Vec::new();
    for source in sources {
        let mut places = Places {
            crate_name: &source.crate_name,
            locals: Locals::default(),
            found: Vec::new(),
        };
        source.items.iter().for_each(|item| places.visit_item(item));
        all.extend(places.found);
    }
    all
}

struct Places<'a> {
    crate_name: &'a str,
    locals: Locals,
    found: Vec<Raised>,
}

// === impl Places ===

impl Places<'_> {
    /// `Diagnostic::error(code, message)`, or `fatal`.
    fn made(&self, call: &syn::ExprCall) -> Option<Raised> {
        let Expr::Path(function) = &*call.func else {
            return None;
        };
        let names: Vec<String> = function
            .path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match (
            names.as_slice(),
            call.args.iter().collect::<Vec<_>>().as_slice(),
        ) {
            ([.., "Diagnostic", "error" | "fatal"], [code, message]) => Some(Raised {
                states: source::states(self.locals.resolve(code)),
                message: self.locals.text(message)?,
                crate_name: self.crate_name.to_owned(),
                ..Raised::default()
            }),
            ([.., "refusal"], [id, what, hint]) => Some(Raised {
                states: vec!["FEATURE_NOT_SUPPORTED".to_owned()],
                message: self.locals.text(what)?,
                refusal: self.locals.text(id),
                hint: self.locals.text(hint).filter(|hint| !hint.is_empty()),
                crate_name: self.crate_name.to_owned(),
            }),
            _ => None,
        }
    }

    /// The same with `.detail(...)` and `.hint(...)` after it.
    fn made_with(&self, expr: &Expr) -> Option<Raised> {
        match expr {
            Expr::Call(call) => self.made(call),
            Expr::MethodCall(call) => {
                let mut raised = self.made_with(&call.receiver)?;
                let text = call.args.first().and_then(|arg| self.locals.text(arg));
                if call.method == "hint" {
                    raised.hint = text;
                } else if call.method == "detail" {
                    raised.refusal = text
                        .as_deref()
                        .and_then(|text| text.strip_prefix(PREFIX))
                        .filter(|rest| !rest.starts_with('{'))
                        .map(str::to_owned);
                }
                Some(raised)
            }
            _ => None,
        }
    }
}

impl<'ast> Visit<'ast> for Places<'_> {
    fn visit_signature(&mut self, _: &'ast syn::Signature) {
        self.locals.clear();
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        self.locals.note(local);
        visit::visit_local(self, local);
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match self.made_with(expr) {
            Some(raised) => self.found.push(raised),
            None => visit::visit_expr(self, expr),
        }
    }
}

use jaq_core::load::{Arena, File, Loader, lex, parse};
use jaq_core::{Compiler, Ctx, Exn, Vars, compile as compiling, data, load};
use jaq_json::{Val, read};

use crate::cli::output::layout;

type Filter = jaq_core::Filter<data::JustLut<Val>>;

/// A jq program.
pub(super) struct Program(Filter);

/// Reads a jq program. The error says where it is wrong.
pub(super) fn compile(text: &str) -> Result<Program, String> {
    let arena = Arena::default();
    let loader = Loader::new(jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()));
    let modules = loader.load(&arena, File { code: text, path: () }).map_err(|errors| loading(text, errors))?;
    load::import(&modules, |_| Err("data files are not read".to_owned())).map_err(|errors| loading(text, errors))?;
    let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let filter = Compiler::default().with_funs(functions).compile(modules).map_err(undefined)?;
    Ok(Program(filter))
}

impl Program {
    /// The one result of the program for a JSON text, as compact JSON.
    pub(super) fn run(&self, text: &[u8]) -> Result<String, String> {
        layout::check(text).map_err(|error| format!("the value is no JSON ({error}), which a jq program needs"))?;
        let input = read::parse_single(text).map_err(|error| format!("the value cannot be read: {error}"))?;
        let context = Ctx::<data::JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        let mut results = self.0.id.run((context, input));
        let result = match results.next() {
            None => return Err("the program gives no result: it must give one".to_owned()),
            Some(result) => result.map_err(ended)?,
        };
        if results.next().is_some() {
            return Err(
                "the program gives more than one result: it must give one (in brackets, [ ], they are one)".to_owned()
            );
        }
        let result = result.to_string();
        // jq's values are more than JSON's: bytes, not-a-number, names that are no texts.
        layout::check(result.as_bytes()).map_err(|error| format!("the program's result is no JSON ({error})"))?;
        Ok(result)
    }
}

/// Why there is no result. To halt ends a process for jq itself; here it concerns one text.
fn ended(exception: Exn<Val>) -> String {
    match exception.get_err() {
        Ok(error) => format!("the program fails: {error}"),
        Err(_) => "the program halts before it gives a result".to_owned(),
    }
}

/// At most this much of a program is quoted in an error.
const QUOTED: usize = 40;

fn loading(program: &str, errors: load::Errors<&str, ()>) -> String {
    let at = |rest: &str| match rest.chars().take(QUOTED).collect::<String>() {
        rest if rest.is_empty() => "at its end".to_owned(),
        // What is found is a slice of the program.
        rest => format!("at {rest:?} (character {})", 1 + program.find(rest.as_str()).unwrap_or_default()),
    };
    let mut texts = errors.into_iter().flat_map(|(_, error)| match error {
        load::Error::Io(errors) => errors.into_iter().map(|(path, why)| format!("cannot load {path}: {why}")).collect(),
        load::Error::Lex(errors) => {
            let text = |(expected, rest): lex::Error<&str>| format!("expected {} {}", expected.as_str(), at(rest));
            errors.into_iter().map(text).collect::<Vec<_>>()
        }
        load::Error::Parse(errors) => {
            let text = |(expected, rest): parse::Error<&str>| format!("expected {} {}", expected.as_str(), at(rest));
            errors.into_iter().map(text).collect()
        }
    });
    texts.next().unwrap_or_else(|| "it cannot be read".to_owned())
}

fn undefined(errors: compiling::Errors<&str, ()>) -> String {
    let first = errors.into_iter().flat_map(|(_, errors)| errors).next();
    match first {
        Some((name, kind)) => format!("undefined {}: {name}", kind.as_str()),
        None => "it cannot be compiled".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(program: &str, text: &str) -> Result<String, String> {
        compile(program).unwrap().run(text.as_bytes())
    }

    #[test]
    fn a_result_is_one_json_text() {
        assert_eq!(run(".items |= [.]", r#"{"b": 1.10, "items": "x"}"#).unwrap(), r#"{"b":1.10,"items":["x"]}"#);
        // Numbers beyond a double and the order of names stay.
        assert_eq!(
            run(".c = 1", r#"{"b":12345678901234567890123,"a":2}"#).unwrap(),
            r#"{"b":12345678901234567890123,"a":2,"c":1}"#
        );
        assert_eq!(run("map(. + 1)", "[1,2]").unwrap(), "[2,3]");
    }

    #[test]
    fn anything_else_is_an_error_that_says_why() {
        for (program, text, says) in [
            ("empty", "{}", "no result"),
            (".[]", "[1,2]", "more than one result"),
            ("repeat(1)", "{}", "more than one result"),
            ("error(\"not mine\")", "{}", "not mine"),
            (".a + 1", "{\"a\":{}}", "the program fails"),
            (".", "{a", "the value is no JSON"),
            (".", "", "the value is no JSON"),
            ("nan", "1", "no JSON"),
            ("halt", "1", "the program halts"),
            ("halt_error(71)", "1", "the program halts"),
        ] {
            let error = run(program, text).unwrap_err();
            assert!(error.contains(says), "{program}: {error}");
        }
    }

    #[test]
    fn a_program_that_is_none_says_where() {
        for (program, says) in [
            ("nosuch(1)", "undefined filter: nosuch"),
            (".a | $x", "undefined variable: $x"),
            (".a |= ", "at its end"),
            ("{a: ]", "character 5"),
            ("import \"/etc/passwd\" as $p; $p", "cannot load /etc/passwd: data files are not read"),
            ("include \"x\"; .", "cannot load x"),
            ("", "expected"),
        ] {
            match compile(program) {
                Err(error) => assert!(error.contains(says), "{program}: {error}"),
                Ok(_) => assert_eq!(program, "", "{program} is no program"),
            }
        }
    }
}

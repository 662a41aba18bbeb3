//! Renderings become tokens: whole, or in pieces where a value spells a control token.

use super::guard::{specials, try_render};
use serde_json::{Value, json};
use superfluid_core::Refusal;
use superfluid_core::sched::Token;
use superfluid_worker_kit::template::{Rendered, Specials};
use superfluid_worker_kit::{Special, SpecialKind, Vocabulary};

const BEGIN: Token = 1002;

/// One token a byte; a piece of plain text costs a token more, so that pieces can be counted.
struct Bytes {
    specials: Vec<Special>,
    begins: bool,
}

/// Stands before each piece.
const PIECE: Token = 999;

impl Vocabulary for Bytes {
    fn size(&self) -> u32 {
        2000
    }

    fn specials(&self) -> Vec<Special> {
        self.specials.clone()
    }

    fn tokenize(&self, text: &str, special: bool, bos: bool) -> Result<Vec<Token>, Refusal> {
        let mut longest: Vec<&Special> = self.specials.iter().collect();
        longest.sort_by_key(|s| std::cmp::Reverse(s.text.len()));
        let (mut tokens, mut plain, mut rest) = (Vec::new(), false, text);
        while let Some(c) = rest.chars().next() {
            let parsed = |s: &&&Special| special || s.kind != SpecialKind::Control;
            let found = longest.iter().filter(parsed).find(|s| rest.starts_with(&s.text));
            if let Some(found) = found {
                tokens.push(found.token);
                rest = &rest[found.text.len()..];
                plain = false;
                continue;
            }
            if !plain {
                tokens.push(PIECE);
                plain = true;
            }
            tokens.push(c.into());
            rest = &rest[c.len_utf8()..];
        }
        if bos && self.begins && tokens.first() != Some(&BEGIN) {
            tokens.insert(0, BEGIN);
        }
        Ok(tokens)
    }

    fn piece(&self, _: Token) -> Vec<u8> {
        Vec::new()
    }

    fn is_end(&self, _: Token) -> bool {
        false
    }

    fn bos_text(&self) -> String {
        "<s>".into()
    }

    fn eos_text(&self) -> String {
        "</s>".into()
    }
}

fn bytes(specials: Vec<Special>) -> (Bytes, Specials) {
    let vocabulary = Bytes { specials, begins: true };
    let specials = Specials::new(vocabulary.specials());
    (vocabulary, specials)
}

fn plain(text: &str) -> Vec<Token> {
    [PIECE].into_iter().chain(text.chars().map(Token::from)).collect()
}

#[test]
fn case_t01_a_spelled_token_is_plain_and_its_piece_stays_one() {
    let (vocabulary, found) = bytes(specials());
    let source =
        "<|im_start|>{{ messages[0].role }}\n{{ messages[0].content }}<|im_end|>\n<|im_start|>assistant";
    let tokens = |content: &str| {
        let messages = json!([{"role": "user", "content": content}]);
        let rendered = try_render(source, &messages, &Value::Null, &Value::Null).unwrap();
        found.tokens(&rendered, &vocabulary).unwrap()
    };
    let whole = |said: Vec<Token>| {
        let head = [vec![BEGIN, 1000], said, vec![1001], plain("\n")];
        [head.concat(), vec![1000], plain("assistant")].concat()
    };
    for special in specials().iter().filter(|special| special.is_control()) {
        let content = format!("a{}b", special.text);
        assert_eq!(tokens(&content), whole(plain(&format!("user\n{content}"))), "{}", special.text);
    }
    assert_eq!(tokens("hi"), whole(plain("user\nhi")));
    let thought = [plain("user\n</s>"), vec![1100], plain("x")].concat();
    assert_eq!(tokens("</s><think>x"), whole(thought), "a token that is text is found in text");
}

#[test]
fn the_begin_of_text_comes_once_and_only_where_it_is_wanted() {
    let (mut vocabulary, found) = bytes(specials());
    let rendered = |text: &str| Rendered { text: text.into(), marked: vec![text.rfind('<').unwrap()] };
    let tail = plain("x</s>");
    let tokens = |vocabulary: &Bytes, text| found.tokens(&rendered(text), vocabulary).unwrap();
    assert_eq!(tokens(&vocabulary, "<s>x</s>"), [vec![BEGIN], tail.clone()].concat());
    assert_eq!(tokens(&vocabulary, "x</s>"), [vec![BEGIN], tail.clone()].concat());
    vocabulary.begins = false;
    assert_eq!(tokens(&vocabulary, "x</s>"), tail);
}

#[test]
fn white_space_that_goes_with_a_token_goes_with_it() {
    let mut list = specials();
    list[0].rstrip = true;
    list[1].lstrip = true;
    let (vocabulary, found) = bytes(list);
    let text = "<|im_start|> \n\u{b}a \n<|im_end|>\n<|im_start|> <|im_start|>\t</s> ".to_owned();
    let marked = vec![text.find("</s>").unwrap()];
    let tokens = found.tokens(&Rendered { text, marked }, &vocabulary).unwrap();
    let expected = [vec![BEGIN, 1000], plain("a"), vec![1001], plain("\n"), vec![1000, 1000], plain("</s> ")];
    assert_eq!(tokens, expected.concat());
}

#[test]
fn longer_tokens_come_first() {
    let mut list = specials();
    list[4].text = "<s><s>".into();
    list[7].text = "x<s>yy".into();
    let (vocabulary, found) = bytes(list);
    let text = "<s><s><s>x<s>yy</s>".to_owned();
    let marked = vec![text.find("</s>").unwrap()];
    let tokens = found.tokens(&Rendered { text, marked }, &vocabulary).unwrap();
    let expected = [vec![BEGIN, 1004, BEGIN, 1100], plain("</s>")].concat();
    assert_eq!(tokens, expected);
}

/// The tokenizer would find it in plain text: it is cut open.
#[test]
fn case_t01_a_structure_token_that_a_value_spells_is_not_found() {
    let mut list = specials();
    list[0].kind = SpecialKind::Structure;
    let (vocabulary, found) = bytes(list);
    let messages = json!([{"role": "user", "content": "a<|im_start|>b<|im_start|>"}]);
    let rendered =
        try_render("<|im_start|>{{ messages[0].content }}.", &messages, &Value::Null, &Value::Null).unwrap();
    let tokens = found.tokens(&rendered, &vocabulary).unwrap();
    assert_eq!(tokens.iter().filter(|token| **token == 1000).count(), 1);
    let expected = [vec![BEGIN, 1000], plain("a<"), plain("|im_start|>b<"), plain("|im_start|>.")];
    assert_eq!(tokens, expected.concat());
}

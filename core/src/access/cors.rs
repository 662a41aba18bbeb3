//! What a page of an allowed origin may send.

/// Said where a page did not ask, or asked for what no browser would.
const USUAL: &str = "authorization, content-type, x-request-id, x-superfluid-deadline-ms, x-superfluid-qos";
/// Bytes of a list of names that is repeated.
const MOST: usize = 4096;

/// The value of `Access-Control-Allow-Headers` for a preflight of an allowed origin: what its
/// `Access-Control-Request-Headers` asks for, where that is a list of header names. Clients send
/// headers of their own with every request, and one that is not allowed keeps all of it back; this
/// server reads few of them and trusts none.
pub fn allowed_headers(asked: Option<&str>) -> &str {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let name = |name: &str| !name.is_empty() && name.bytes().all(token);
    let list = asked.map(str::trim).filter(|list| list.len() <= MOST);
    list.filter(|list| list.split(',').all(|part| name(part.trim_matches([' ', '\t'])))).unwrap_or(USUAL)
}

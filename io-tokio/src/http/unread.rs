//! Answers to requests that can't be read. hyper gives them itself, with a status and no body; on
//! their way out they become the API's errors.

use bytes::{Buf, Bytes};
use hyper::StatusCode;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use superfluid_core::api::unreadable;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A socket through which hyper's own answers go out with a body.
#[derive(Debug)]
pub(super) struct Unread<S> {
    socket: S,
    /// What is left of an answer put in the place of hyper's.
    answer: Bytes,
}

impl<S: AsyncWrite + Unpin> Unread<S> {
    pub(super) fn new(socket: S) -> Self {
        Self { socket, answer: Bytes::new() }
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        while self.answer.has_remaining() {
            let written = ready!(Pin::new(&mut self.socket).poll_write(cx, &self.answer))?;
            if written == 0 {
                return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into()));
            }
            self.answer.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

/// The status of an answer that hyper made: this server's own always have a type, or are no errors.
fn own_of_hyper(head: &[u8]) -> Option<StatusCode> {
    let status = head.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    let has = |needle: &[u8]| head.windows(needle.len()).any(|window| window == needle);
    let bare = status[0] == b'4' && has(b"\r\ncontent-length: 0\r\n") && !has(b"\r\ncontent-type: ");
    if bare { StatusCode::from_bytes(status).ok() } else { None }
}

/// It in the API's envelope. It closes the connection, as hyper's does.
fn answer(status: StatusCode) -> Bytes {
    let body = unreadable(status.as_u16()).body();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         cache-control: no-store\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat().into()
}

impl<S: AsyncRead + Unpin> AsyncRead for Unread<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unread<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        ready!(self.poll_answer(cx))?;
        if let Some(status) = own_of_hyper(bytes) {
            self.answer = answer(status);
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        ready!(self.poll_answer(cx))?;
        let first = slices.iter().find(|slice| !slice.is_empty());
        if let Some((slice, status)) = first.and_then(|slice| Some((slice, own_of_hyper(slice)?))) {
            self.answer = answer(status);
            return Poll::Ready(Ok(slice.len()));
        }
        Pin::new(&mut self.socket).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        ready!(self.poll_answer(cx))?;
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        ready!(self.poll_answer(cx))?;
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

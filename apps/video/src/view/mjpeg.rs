//! Live pictures for whatever shows images and nothing else: `multipart/x-mixed-replace`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream;

use super::hub::{Hub, Mode};
use super::packet::Packet;

const BOUNDARY: &str = "dunlin-frame";

/// The endless answer for one client.
pub fn response(hub: &Arc<Hub>, camera: Option<&str>) -> Response {
    let subscription = hub.subscribe(camera, Mode::Jpeg);
    let parts = stream::unfold(subscription, |subscription| async move {
        let packet = subscription.queue.next().await;
        Some((Ok::<_, Infallible>(part(&packet)), subscription))
    });
    let headers = [
        (CONTENT_TYPE, format!("multipart/x-mixed-replace; boundary={BOUNDARY}")),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    (headers, Body::from_stream(parts)).into_response()
}

fn part(packet: &Packet) -> Bytes {
    let image = packet.payload();
    let head = format!("--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n", image.len());
    let mut part = BytesMut::with_capacity(head.len() + image.len() + 2);
    part.put_slice(head.as_bytes());
    part.put_slice(image);
    part.put_slice(b"\r\n");
    part.freeze()
}

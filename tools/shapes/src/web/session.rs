//! One page that is open.

use crate::board::{Board, Settings};
use anyhow::Result;
use axum::extract::ws::{Message, WebSocket};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use std::sync::Arc;
use tokio::sync::watch;

/// Octets of the longest wish.
pub const MAX_WISH: usize = 4096;

/// What a page may ask for.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Wish {
    Publish { topic: String, color: String, size: i32, settings: Settings },
    Subscribe { topic: String, settings: Settings },
    Remove { id: u32 },
}

/// Sends the board whenever it has changed, and does what the page asks for.
pub async fn serve(socket: WebSocket, board: Arc<Board>, mut view: watch::Receiver<String>) {
    let (mut to_page, mut from_page) = socket.split();
    loop {
        let message = tokio::select! {
            changed = view.changed() => {
                if changed.is_err() {
                    return;
                }
                view.borrow_and_update().clone()
            }
            wish = from_page.next() => {
                let Some(Ok(wish)) = wish else { return };
                let Message::Text(text) = wish else { continue };
                let board = Arc::clone(&board);
                // Leaving a topic waits for readers a moment.
                let done = tokio::task::spawn_blocking(move || grant(&board, &text)).await;
                match done {
                    Ok(Err(error)) => serde_json::json!({ "error": format!("{error:#}") }).to_string(),
                    _ => serde_json::json!({ "error": "" }).to_string(),
                }
            }
        };
        if to_page.send(Message::Text(message.into())).await.is_err() {
            return;
        }
    }
}

fn grant(board: &Board, text: &str) -> Result<()> {
    match serde_json::from_str(text)? {
        Wish::Publish { topic, color, size, settings } => {
            board.publish(&topic, &color, size, settings).map(drop)
        }
        Wish::Subscribe { topic, settings } => board.subscribe(&topic, settings).map(drop),
        Wish::Remove { id } => board.remove(id),
    }
}

//! One page that is open.

use std::sync::Arc;

use anyhow::Result;
use axum::extract::ws::{Message, WebSocket};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::sync::watch;

use crate::board::{Board, Settings};

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

/// Serves the page until it is closed; what it has made ends with it.
pub async fn serve(socket: WebSocket, board: Arc<Board>, view: watch::Receiver<String>) {
    let mut made = Vec::new();
    talk(socket, &board, view, &mut made).await;
    // A full history makes the farewell wait. What was removed before is no mistake.
    let leave = move || made.into_iter().for_each(|id| drop(board.remove(id)));
    _ = tokio::task::spawn_blocking(leave).await;
}

/// Sends the board whenever it has changed, and does what the page asks for; `made` is what it has made.
async fn talk(socket: WebSocket, board: &Arc<Board>, mut view: watch::Receiver<String>, made: &mut Vec<u32>) {
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
                let board = Arc::clone(board);
                // A full history makes the farewell of a publication wait.
                let done = tokio::task::spawn_blocking(move || grant(&board, &text)).await;
                let error = match done {
                    Ok(Err(error)) => format!("{error:#}"),
                    Ok(Ok(Granted::Made(id))) => {
                        made.push(id);
                        String::new()
                    }
                    Ok(Ok(Granted::Removed(id))) => {
                        made.retain(|of_page| *of_page != id);
                        String::new()
                    }
                    Err(_) => String::new(),
                };
                serde_json::json!({ "error": error }).to_string()
            }
        };
        if to_page.send(Message::Text(message.into())).await.is_err() {
            return;
        }
    }
}

/// What came of a wish.
enum Granted {
    Made(u32),
    Removed(u32),
}

fn grant(board: &Board, text: &str) -> Result<Granted> {
    match serde_json::from_str(text)? {
        Wish::Publish { topic, color, size, settings } => {
            board.publish(&topic, &color, size, settings).map(Granted::Made)
        }
        Wish::Subscribe { topic, settings } => board.subscribe(&topic, settings).map(Granted::Made),
        Wish::Remove { id } => board.remove(id).map(|()| Granted::Removed(id)),
    }
}

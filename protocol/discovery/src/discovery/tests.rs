mod daemon;
mod endpoints;
mod groups;
mod hostile;
mod net;
mod participants;
mod server;
mod types;

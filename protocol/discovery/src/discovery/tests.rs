mod endpoints;
mod hostile;
mod net;
mod participants;
mod types;

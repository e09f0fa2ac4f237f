mod endpoints;
mod groups;
mod hostile;
mod net;
mod participants;
mod types;

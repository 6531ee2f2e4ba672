mod coordinator;
mod losses;
mod node;
mod scenarios;
mod script;
mod simulation;
mod world;

mod coordinator;
mod scenarios;
mod simulation;

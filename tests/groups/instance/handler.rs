use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::record::Record;
use bezoar::{Delivery, FactoryContext, Failure, Handler, HandlerFactory, factory_fn};
use tokio::time::sleep;

use super::fate::Fate;
use super::spy::Tenure;
use crate::journal::{Journal, What};

/// Notes each delivery before it does anything, and then does what the record's fate says.
struct Actor {
    journal: Journal,
    tenure: Tenure,
    seed: u64,
    ownership: u64,
}

impl Handler for Actor {
    type Message = Record;
    type Error = Failure;

    async fn handle(&mut self, _: Record, delivery: Delivery) -> Result<(), Failure> {
        let late = self.tenure.is_over();
        let (partition, offset, attempt) = (delivery.partition(), delivery.offset(), delivery.attempt());
        self.journal.note(What::Starts { partition, offset, attempt, ownership: self.ownership, late });
        match Fate::of(self.seed, partition, offset) {
            Fate::Passes => {}
            Fate::Waits(millis) => sleep(Duration::from_millis(millis)).await,
            Fate::Blocks(millis) => std::thread::sleep(Duration::from_millis(millis)),
            Fate::Fails(times) if attempt <= times => return Err(Failure::transient("not yet")),
            Fate::Fails(_) => {}
            Fate::Invalid => return Err(Failure::validation("never")),
            Fate::Panics => panic!("a poison pill"),
        }
        self.journal.note(What::Handled { partition, offset });
        Ok(())
    }
}

/// Makes them; the first handler of each ownership gets a new number for it.
pub(crate) fn factory(
    journal: Journal,
    tenure: Tenure,
    seed: u64,
) -> impl HandlerFactory<Handler = impl Handler<Message = Record>> {
    let numbers: Arc<Mutex<(u64, HashMap<i32, u64>)>> = Arc::default();
    factory_fn(move |context: FactoryContext| {
        let partition = context.partition().partition();
        let ownership = {
            let mut numbers = numbers.lock().unwrap();
            let (last, current) = &mut *numbers;
            if context.incarnation() == 1 {
                *last += 1;
                current.insert(partition, *last);
                journal.note(What::Owns { partition, ownership: *last });
            }
            current[&partition]
        };
        let actor = Actor { journal: journal.clone(), tenure: tenure.clone(), seed, ownership };
        async move { Ok(actor) }
    })
}

/// What a member subscribes to.
#[derive(Debug, Clone)]
pub(crate) struct Subscription {
    /// Topics by name.
    pub(crate) names: Vec<String>,
}

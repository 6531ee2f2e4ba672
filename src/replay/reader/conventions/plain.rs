use crate::dead_letter::names::{PLAIN_ERROR, PLAIN_SOURCE};
use crate::replay::Convention;
use crate::replay::reader::layout::{Field, Layout, Name, Repeats};

/// Two headers. The source must be readable: their names are anybody's.
pub(crate) static PLAIN: Layout = Layout {
    convention: Convention::Plain,
    names: &[Name::text(PLAIN_SOURCE, Field::Source), Name::text(PLAIN_ERROR, Field::ErrorType)],
    needs: &[&[Field::Source], &[Field::ErrorType]],
    repeats: Repeats::Appended,
    distinct: false,
};

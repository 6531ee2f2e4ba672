use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table as Grid, Width, presets};

use super::escape;

/// Narrower than this, a column whose values are cut says nothing.
const NARROWEST: u16 = 12;

/// A table for people: no borders, so that words can be picked out of it.
pub(in crate::cli) struct Table {
    grid: Grid,
    columns: Vec<Column>,
    rows: usize,
    height: usize,
}

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Column {
    /// Text that must not be cut: names and places, to be copied.
    Whole(&'static str),
    /// A number, set to the right.
    Number(&'static str),
    /// Text that is cut to what room there is.
    Cut(&'static str),
}

impl Column {
    fn title(self) -> &'static str {
        match self {
            Self::Whole(title) | Self::Number(title) | Self::Cut(title) => title,
        }
    }
}

impl Table {
    pub(in crate::cli) fn new(columns: &[Column]) -> Self {
        let mut grid = Grid::new();
        grid.load_preset(presets::NOTHING).set_truncation_indicator("…");
        grid.set_header(columns.iter().map(|column| column.title()));
        Self { grid, columns: columns.to_vec(), rows: 0, height: 1 }
    }

    /// Gives rows up to so many lines before anything is cut. Default 1.
    pub(in crate::cli) fn tall(mut self, lines: usize) -> Self {
        self.height = lines;
        self
    }

    /// Adds a row: one text per column, as records hold them.
    pub(in crate::cli) fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter().map(|cell| Cell::new(escape::line(cell.as_ref())));
        let mut row = Row::from(cells.collect::<Vec<_>>());
        row.max_height(self.height);
        self.grid.add_row(row);
        self.rows += 1;
    }

    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The table for a terminal of this width; without one nothing is cut.
    pub(in crate::cli) fn render(mut self, width: Option<u16>) -> String {
        let arrangement = if width.is_some() { ContentArrangement::Dynamic } else { ContentArrangement::Disabled };
        self.grid.set_content_arrangement(arrangement);
        if let Some(width) = width {
            self.grid.set_width(width.max(NARROWEST));
        }
        for (column, settings) in self.columns.iter().zip(self.grid.column_iter_mut()) {
            settings.set_padding((0, 2));
            match column {
                Column::Whole(_) => drop(settings.set_constraint(ColumnConstraint::ContentWidth)),
                Column::Number(_) => {
                    settings.set_constraint(ColumnConstraint::ContentWidth);
                    settings.set_cell_alignment(CellAlignment::Right);
                }
                Column::Cut(_) if width.is_some() => {
                    settings.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(NARROWEST)));
                }
                Column::Cut(_) => {}
            }
        }
        self.grid.trim_fmt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters() -> Table {
        let mut table = Table::new(&[Column::Whole("PLACE"), Column::Number("COUNT"), Column::Cut("ERROR")]);
        table.row(["orders.dlq.validation/0/17", "7", "missing field `items` at line 1\ncolumn 20: \u{1b}[31mred"]);
        table.row(["o/0/1", "123", &"long ".repeat(40)]);
        table
    }

    #[test]
    fn places_stay_whole_and_the_rest_is_cut_to_the_terminal() {
        let table = letters().render(Some(80));
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3, "{table}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{table}");
        assert!(lines[1].starts_with("orders.dlq.validation/0/17"), "{table}");
        assert!(lines[2].ends_with('…'), "{table}");
        assert!(!table.contains('\u{1b}'));
    }

    #[test]
    fn nothing_is_cut_where_there_is_no_terminal() {
        let table = letters().render(None);
        assert!(table.lines().nth(1).unwrap().ends_with("line 1\\ncolumn 20: \\u{1b}[31mred"), "{table}");
        assert!(table.lines().nth(2).unwrap().len() > 200);
    }
}

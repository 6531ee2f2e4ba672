/// The middle value; for an even count the upper one of the two in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    percentile(&mut values, 50.0)
}

/// The value below which `percent` of all lie. `values` must not be empty; they are sorted.
pub fn percentile(values: &mut [f64], percent: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let index = (values.len() as f64 * percent / 100.0) as usize;
    values[index.min(values.len() - 1)]
}

/// Prints a Markdown table whose columns are as wide as their widest cell.
pub fn print(header: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let line = |cells: Vec<String>| {
        let padded = cells.iter().enumerate().map(|(column, cell)| format!(" {cell:<width$} ", width = width(column)));
        println!("|{}|", padded.collect::<Vec<_>>().join("|"));
    };
    line(header.iter().map(|&cell| cell.to_owned()).collect());
    line((0..header.len()).map(|column| "-".repeat(width(column))).collect());
    rows.iter().cloned().for_each(line);
}

//! Test of several means at once (Hotelling 1931).

use crate::f::beyond;
use crate::linear::solve;

/// p value that the mean of vectors is zero in every component, whatever their correlation; `rows` are the vectors, of equal
/// length. Linear maps of the vectors do not change it. `None` unless there are more vectors than components, or if some
/// combination of the components does not vary.
pub fn p(rows: &[Vec<f64>]) -> Option<f64> {
    let (count, size) = (rows.len(), rows.first()?.len());
    if size == 0 || count <= size {
        return None;
    }
    let n = count as f64;
    let mean: Vec<f64> = (0..size).map(|column| rows.iter().map(|row| row[column]).sum::<f64>() / n).collect();
    // In units of each component's own size, so that none is lost in rounding.
    let unit = |column: usize| rows.iter().fold(0.0, |most: f64, row| most.max(row[column].abs()));
    let units: Vec<f64> = (0..size).map(unit).collect();
    if units.iter().any(|unit| *unit <= 0.0) {
        return None;
    }
    let off = |row: &[f64], column: usize| (row[column] - mean[column]) / units[column];
    let covariance = |a: usize, b: usize| rows.iter().map(|row| off(row, a) * off(row, b)).sum::<f64>() / (n - 1.0);
    let matrix: Vec<Vec<f64>> = (0..size).map(|a| (0..size).map(|b| covariance(a, b)).collect()).collect();
    // Rounding alone varies less than that.
    if (0..size).any(|column| matrix[column][column] < 1e-24) {
        return None;
    }
    let scaled: Vec<f64> = mean.iter().zip(&units).map(|(mean, unit)| mean / unit).collect();
    let solved = solve(matrix, scaled.clone())?;
    let square = n * scaled.iter().zip(&solved).map(|(a, b)| a * b).sum::<f64>();
    let p = size as f64;
    Some(beyond((square * (n - p) / (p * (n - 1.0))).max(0.0), p, n - p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student::two_sided;
    use proptest::prelude::*;

    #[test]
    fn one_component_is_students_test() {
        let values = [1.0, 2.5, -0.5, 3.0, 0.5];
        let rows: Vec<Vec<f64>> = values.iter().map(|value| vec![*value]).collect();
        let mean = values.iter().sum::<f64>() / 5.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 4.0;
        let t = mean / (variance / 5.0).sqrt();
        assert!((p(&rows).unwrap() - two_sided(t, 4.0)).abs() < 1e-12);
    }

    #[test]
    fn too_few_rows_and_constant_ones_have_no_p() {
        assert_eq!(p(&[]), None);
        assert_eq!(p(&[vec![1.0, 2.0], vec![2.0, 1.0]]), None);
        assert_eq!(p(&[vec![1.0], vec![1.0], vec![1.0]]), None);
        let same: Vec<Vec<f64>> = [1.0, 2.0, 4.0, 3.0].iter().map(|value| vec![*value, 2.0 * value]).collect();
        assert_eq!(p(&same), None);
    }

    proptest! {
        #[test]
        fn units_and_combinations_do_not_matter(
            values in proptest::collection::vec(-1.0f64..1.0, 24), scale in 0.1f64..1e4, mixed in -0.5f64..0.5,
        ) {
            let rows: Vec<Vec<f64>> = values.chunks(2).map(<[f64]>::to_vec).collect();
            let other: Vec<Vec<f64>> = rows.iter().map(|row| vec![scale * row[0], row[1] + mixed * row[0]]).collect();
            let (one, two) = (p(&rows).unwrap(), p(&other).unwrap());
            prop_assert!((one - two).abs() < 1e-6, "{one} {two}");
        }
    }
}

//! Small systems of linear equations.

/// A pivot smaller than this share of the largest coefficient is 0 but for rounding.
const ROUNDING: f64 = 1e-12;

/// Solves `matrix * x = right` by Gaussian elimination with partial pivoting. `None` if the matrix is singular.
pub(crate) fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    let largest = matrix.iter().flatten().fold(0.0, |most: f64, value| most.max(value.abs()));
    for column in 0..size {
        let pivot = (column..size).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        // Also false for values that are not finite.
        let is_regular = matrix[pivot][column].abs() > ROUNDING * largest;
        if !is_regular {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..size {
            let (above, below) = matrix.split_at_mut(row);
            let (above, below) = (&above[column], &mut below[0]);
            let factor = below[column] / above[column];
            below.iter_mut().zip(above).skip(column).for_each(|(value, above)| *value -= factor * above);
            right[row] -= factor * right[column];
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_singular_matrix_has_no_solution() {
        assert_eq!(solve(vec![vec![1.0, 2.0], vec![2.0, 4.0]], vec![1.0, 2.0]), None);
        assert_eq!(solve(vec![vec![f64::NAN]], vec![1.0]), None);
        assert_eq!(solve(vec![vec![0.0, 2.0], vec![4.0, 0.0]], vec![6.0, 8.0]), Some(vec![2.0, 3.0]));
    }

    proptest! {
        #[test]
        fn a_solution_solves(
            values in proptest::collection::vec(-1.0f64..1.0, 9), right in proptest::collection::vec(-9.0f64..9.0, 3),
        ) {
            // A strong diagonal is regular.
            let mut matrix: Vec<Vec<f64>> = values.chunks(3).map(<[f64]>::to_vec).collect();
            (0..3).for_each(|index| matrix[index][index] += 3.0);
            let found = solve(matrix.clone(), right.clone()).unwrap();
            for (row, right) in matrix.iter().zip(&right) {
                let left: f64 = row.iter().zip(&found).map(|(a, b)| a * b).sum();
                prop_assert!((left - right).abs() < 1e-9);
            }
        }
    }
}

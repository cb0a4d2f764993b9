//! The server models that plans accept are those that `brunt serve` has. The two lists live apart because `lab` starts
//! servers as processes and does not depend on `serve`.

use brunt_lab::plan::keys::{HTTP_MODELS, MODELS};
use brunt_serve::{Model, TcpModel};

#[test]
fn plans_accept_the_models_of_brunt_serve() {
    assert_eq!(MODELS, TcpModel::all().map(|model| model.word).collect::<Vec<_>>());
    assert_eq!(HTTP_MODELS, Model::ALL.map(|(_, name)| name));
}

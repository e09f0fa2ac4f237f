//! The names under which ROS 2 announces what its `.idl` files declare: `pkg::msg::Foo` is `pkg::msg::dds_::Foo_`, as it is
//! of a `.msg` file.

use std::collections::BTreeSet;

use super::Kind;
use crate::ir::{Extensibility, Item, Kind as TypeKind, Model, Module, ModuleId};

/// Where ROS 2 puts what middlewares see.
const INNER: &str = "dds_";
/// The end of the name of the module that holds the constants of a type.
const CONSTANTS: &str = "_Constants";

/// Renames structures and unions of the modules `pkg::msg`, `pkg::srv` and `pkg::action`, and moves them with their
/// constants to the module `dds_` inside. They are final unless they say otherwise. Returns how many there are.
///
/// # Errors
/// A name that two types would have.
pub(crate) fn rename(model: &mut Model) -> Result<usize, String> {
    let packages = modules_in(model, ModuleId(0));
    let kinds: Vec<ModuleId> = packages
        .into_iter()
        .flat_map(|package| modules_in(model, package))
        .filter(|id| model.module(*id).is_some_and(|module| is_interface(&module.name)))
        .collect();
    let renamed = kinds.into_iter().map(|id| rename_in(model, id)).sum();
    let mut names = BTreeSet::new();
    match model.types().find(|(_, ty)| !names.insert(&ty.full_name)) {
        Some((_, twice)) => Err(twice.full_name.clone()),
        None => Ok(renamed),
    }
}

fn is_interface(module: &str) -> bool {
    [Kind::Message, Kind::Service, Kind::Action].into_iter().any(|kind| kind.word() == module)
}

fn modules_in(model: &Model, id: ModuleId) -> Vec<ModuleId> {
    let items = model.module(id).map(|module| module.items.as_slice()).unwrap_or_default();
    let modules = items.iter().filter_map(|item| match item {
        Item::Module(id) => Some(*id),
        _ => None,
    });
    modules.collect()
}

fn rename_in(model: &mut Model, outer: ModuleId) -> usize {
    let moves = |model: &Model, item: &Item| match item {
        Item::Type(id) => {
            model.ty(*id).is_some_and(|ty| matches!(ty.kind, TypeKind::Struct(_) | TypeKind::Union(_)))
        }
        Item::Module(id) => model.module(*id).is_some_and(|module| {
            module.name.ends_with(CONSTANTS) && module.items.iter().all(|it| matches!(it, Item::Const(_)))
        }),
        Item::Const(_) | Item::Interface(_) => false,
    };
    let Some(module) = model.module(outer) else { return 0 };
    let (moved, kept): (Vec<Item>, Vec<Item>) = module.items.iter().partition(|item| moves(model, item));
    let renamed = moved.iter().filter(|item| matches!(item, Item::Type(_))).count();
    if renamed == 0 {
        return 0;
    }
    let inner = inner_module(model, outer, kept);
    let scope = model.module(inner).map(|module| module.full_name.clone()).unwrap_or_default();
    for item in &moved {
        match item {
            Item::Type(id) => {
                let Some(ty) = model.types.get_mut(id.0) else { continue };
                ty.name.push('_');
                ty.full_name = format!("{scope}::{}", ty.name);
                if !ty.extensibility_given {
                    ty.extensibility = Extensibility::Final;
                }
            }
            Item::Module(id) => move_constants(model, *id, &scope),
            Item::Const(_) | Item::Interface(_) => {}
        }
    }
    if let Some(module) = model.modules.get_mut(inner.0) {
        module.items.extend(moved);
    }
    renamed
}

/// The module `dds_` of a module, which keeps `items`.
fn inner_module(model: &mut Model, outer: ModuleId, mut items: Vec<Item>) -> ModuleId {
    let known = modules_in(model, outer)
        .into_iter()
        .find(|id| model.module(*id).is_some_and(|module| module.name == INNER));
    let new = ModuleId(model.modules.len());
    if known.is_none() {
        items.push(Item::Module(new));
    }
    let Some(module) = model.modules.get_mut(outer.0) else { return new };
    module.items = items;
    let (full_name, file) = (format!("{}::{INNER}", module.full_name), module.file);
    if let Some(known) = known {
        return known;
    }
    let (docs, verbatims, items) = (None, Vec::new(), Vec::new());
    model.modules.push(Module { name: INNER.to_owned(), full_name, docs, items, file, verbatims });
    new
}

/// Gives a module of constants another scope.
fn move_constants(model: &mut Model, id: ModuleId, scope: &str) {
    let Some(module) = model.modules.get_mut(id.0) else { return };
    module.full_name = format!("{scope}::{}", module.name);
    let inner = module.full_name.clone();
    for item in module.items.clone() {
        let Item::Const(id) = item else { continue };
        if let Some(constant) = model.constants.get_mut(id.0) {
            constant.full_name = format!("{inner}::{}", constant.name);
        }
    }
}

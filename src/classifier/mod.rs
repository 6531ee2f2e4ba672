//! Sorts failures into categories and decides what is done about them.

//! Numbers of which a summary is told.

use serde::Serialize;

/// What is told of a series.
#[derive(Serialize)]
pub struct Summary {
    least: f64,
    mean: f64,
    most: f64,
    deviation: f64,
}

/// Numbers of which the least, the mean, the most and the standard deviation are told.
#[derive(Default, Clone)]
pub struct Series {
    pub count: u64,
    /// The sum of all.
    pub sum: f64,
    pub mean: f64,
    /// Sum of the squared distances from the mean (Welford).
    squares: f64,
    pub least: f64,
    pub most: f64,
}

impl Series {
    /// One more.
    #[allow(clippy::cast_precision_loss, reason = "counts of a window")]
    pub fn add(&mut self, value: f64) {
        if self.count == 0 {
            (self.least, self.most) = (value, value);
        }
        self.count += 1;
        self.sum += value;
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of a window")]
    fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }

    /// Exact numbers, if there are any.
    pub fn summary(&self) -> Option<Summary> {
        let Self { least, mean, most, .. } = *self;
        (self.count > 0).then(|| Summary { least, mean, most, deviation: self.deviation() })
    }

    /// `least 1.0, mean 2.0, most 3.0, deviation 0.5` in a unit.
    pub fn text(&self, unit: &str) -> String {
        let Self { least, mean, most, .. } = self;
        format!("least {least:.1}, mean {mean:.1}, most {most:.1}, deviation {:.1} {unit}", self.deviation())
    }
}

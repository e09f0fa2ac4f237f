//! Pictures as SVG: curves over the payload, bars, and distributions by percentile.

use super::table::number;
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;
/// Told apart also without colours by their dashes.
const COLOURS: &[&str] =
    &["#0b6e99", "#c4501b", "#3f7d20", "#7d3c98", "#9a7d0a", "#555555", "#b03a5b", "#117a65"];
const DASHES: &[&str] = &["", "7 3", "2 3", "9 3 2 3", "4 2", "1 2", "12 4", "6 2 2 2"];

/// A named line or row of bars.
pub(crate) struct Series {
    pub(crate) name: String,
    /// Place and value.
    pub(crate) points: Vec<(f64, f64)>,
}

/// How an axis is cut: by logarithm, with marks.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (low, high) = values
            .filter(|value| *value > 0.0 && value.is_finite())
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        // A flat line still needs some room.
        Some(Self { low: (low * 0.9).ln(), high: (high * 1.1).ln(), from, to })
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value.max(f64::MIN_POSITIVE).ln() - self.low) / (self.high - self.low);
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// 1, 2 and 5 times powers of ten.
    fn marks(&self) -> Vec<f64> {
        let (low, high) = (self.low.exp(), self.high.exp());
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let steps: &[f64] = if high / low > 1_000.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
        all.filter(|mark| (low..=high).contains(mark)).collect()
    }
}

/// Curves, both axes logarithmic.
pub(crate) fn curves(
    title: &str,
    x_name: &str,
    y_name: &str,
    marks: &[(f64, String)],
    series: &[Series],
) -> String {
    let all = || series.iter().flat_map(|one| &one.points);
    let x = Axis::new(all().map(|point| point.0), LEFT, WIDTH - RIGHT);
    let y = Axis::new(all().map(|point| point.1), HEIGHT - BOTTOM, TOP);
    let (Some(x), Some(y)) = (x, y) else { return String::new() };
    let mut svg = open(title, HEIGHT);
    for mark in y.marks() {
        horizontal(&mut svg, y.place(mark), &number(mark));
    }
    for (at, text) in marks {
        let _ = write!(
            svg,
            "<text x='{:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
            x.place(*at),
            HEIGHT - BOTTOM + 16.0,
            escape(text)
        );
    }
    axis_names(&mut svg, x_name, y_name);
    for (at, one) in series.iter().enumerate() {
        let points: Vec<String> =
            one.points.iter().map(|(px, py)| format!("{:.1},{:.1}", x.place(*px), y.place(*py))).collect();
        let (colour, dash) = style(at);
        let _ = write!(
            svg,
            "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='2' stroke-dasharray='{dash}'><title>{}</title></polyline>",
            points.join(" "),
            escape(&one.name)
        );
    }
    svg.push_str("</svg>");
    svg + &legend(series)
}

/// Horizontal bars with their values and spread, from nothing.
pub(crate) fn bars(title: &str, unit: &str, rows: &[(String, (f64, f64, f64))]) -> String {
    const ROW: f64 = 26.0;
    let longest = rows.iter().map(|(_, (_, _, high))| *high).fold(0.0, f64::max);
    if longest <= 0.0 {
        return String::new();
    }
    let height = ROW * rows.len() as f64 + 24.0;
    let (left, right) = (150.0, WIDTH - 110.0);
    let place = |value: f64| left + (right - left) * value / longest;
    let mut svg = open(title, height);
    for (at, (name, (median, low, high))) in rows.iter().enumerate() {
        let top = 6.0 + ROW * at as f64;
        let (colour, _) = style(at);
        let _ = write!(
            svg,
            "<text x='{:.0}' y='{:.1}' text-anchor='end'>{}</text>\
             <rect x='{left}' y='{top:.1}' width='{:.1}' height='16' fill='{colour}'/>\
             <path d='M{:.1} {:.1}H{:.1}' stroke='#111' stroke-width='1.5'/>\
             <text x='{:.1}' y='{:.1}'>{} {}</text>",
            left - 8.0,
            top + 13.0,
            escape(name),
            (place(*median) - left).max(1.0),
            place(*low),
            top + 8.0,
            place(*high),
            place(*high) + 6.0,
            top + 13.0,
            number(*median),
            escape(unit)
        );
    }
    svg.push_str("</svg>");
    svg
}

fn open(title: &str, height: f64) -> String {
    let title = escape(title);
    format!("<svg viewBox='0 0 {WIDTH} {height:.0}' role='img' aria-label='{title}'><title>{title}</title>")
}

fn horizontal(svg: &mut String, at: f64, text: &str) {
    let _ = write!(
        svg,
        "<path d='M{LEFT} {at:.1}H{}' stroke='#ddd'/><text x='{}' y='{:.1}' text-anchor='end'>{text}</text>",
        WIDTH - RIGHT,
        LEFT - 6.0,
        at + 4.0
    );
}

fn axis_names(svg: &mut String, x_name: &str, y_name: &str) {
    let (middle, low) = ((HEIGHT - BOTTOM + TOP) / 2.0, HEIGHT - 6.0);
    let _ = write!(
        svg,
        "<text x='{}' y='{low}' text-anchor='middle'>{}</text>\
         <text transform='translate(12 {middle}) rotate(-90)' text-anchor='middle'>{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        escape(x_name),
        escape(y_name)
    );
}

fn legend(series: &[Series]) -> String {
    let mut text = String::from("<p class='legend'>");
    for (at, one) in series.iter().enumerate() {
        let (colour, dash) = style(at);
        let _ = write!(
            text,
            "<span><svg viewBox='0 0 30 10' class='key'><path d='M0 5H30' stroke='{colour}' stroke-width='3' \
             stroke-dasharray='{dash}'/></svg> {}</span> ",
            escape(&one.name)
        );
    }
    text + "</p>"
}

fn style(at: usize) -> (&'static str, &'static str) {
    let pick = |from: &[&'static str]| from.get(at % from.len()).copied().unwrap_or_default();
    (pick(COLOURS), pick(DASHES))
}

/// Text that is safe in HTML and in quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\'', "&#39;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_every_value() {
        let axis = Axis::new([16.0, 16_384.0].into_iter(), 0.0, 100.0).unwrap();
        assert!(axis.place(16.0) > 0.0 && axis.place(16_384.0) < 100.0);
        assert!(axis.marks().contains(&1_000.0));
        assert!(Axis::new([0.0].into_iter(), 0.0, 1.0).is_none());
        let series = [Series { name: "<a>".into(), points: vec![(1.0, 2.0), (10.0, 3.0)] }];
        let svg = curves("t", "x", "y", &[(1.0, "1".into())], &series);
        assert!(svg.contains("&lt;a&gt;") && !svg.contains("<a>") && !svg.contains("NaN"), "{svg}");
    }
}

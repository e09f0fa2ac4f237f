//! Pictures as SVG: curves over the payload or the percentile, and bars.

use std::fmt::Write;

use super::table::number;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 350.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;
/// Height of a row of names.
const ROW: f64 = 18.0;
/// Told apart also without colours, by dashes and marks.
const COLOURS: &[&str] = &[
    "#0b5c85", "#d1495b", "#2f8f46", "#8e5ab5", "#c98a00", "#00a3a3", "#7a4b2a", "#5c6bc0", "#e0559b",
    "#555d66", "#9aa5b1", "#6b8e23", "#222222",
];
const DASHES: &[&str] = &["", "8 3", "2 3", "10 3 2 3", "5 3", "1 3"];

/// A named line or bar. The number gives it the same looks in every picture of a page.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) name: &'a str,
    pub(crate) number: usize,
}

/// A line.
pub(crate) struct Series<'a> {
    pub(crate) look: Look<'a>,
    /// Place and value.
    pub(crate) points: Vec<(f64, f64)>,
}

/// What the axes are called, and the marks of the horizontal one.
pub(crate) struct Frame<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    pub(crate) marks: &'a [(f64, String)],
    /// Whether points carry marks: not where there are hundreds.
    pub(crate) dots: bool,
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
        Some(Self { low: (low * 0.88).ln(), high: (high * 1.12).ln(), from, to })
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value.max(f64::MIN_POSITIVE).ln() - self.low) / (self.high - self.low);
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Some of the digits times powers of ten: as many as give a handful of marks.
    fn marks(&self) -> Vec<f64> {
        const STEPS: &[&[f64]] = &[
            &[1.0],
            &[1.0, 3.0],
            &[1.0, 2.0, 5.0],
            &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
            &[
                1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.2, 2.5, 2.8, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5,
                6.0, 7.0, 8.0, 9.0,
            ],
        ];
        let (low, high) = (self.low.exp(), self.high.exp());
        let mut marks = Vec::new();
        for steps in STEPS {
            let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
            let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
            marks = all.filter(|mark| (low..=high).contains(mark)).collect();
            if marks.len() >= 4 {
                break;
            }
        }
        marks
    }
}

/// Curves, both axes logarithmic.
pub(crate) fn curves(frame: &Frame<'_>, series: &[Series<'_>]) -> String {
    let all = || series.iter().flat_map(|one| &one.points);
    let x = Axis::new(all().map(|point| point.0), LEFT, WIDTH - RIGHT);
    let y = Axis::new(all().map(|point| point.1), HEIGHT - BOTTOM, TOP);
    let (Some(x), Some(y)) = (x, y) else { return String::new() };
    let (legend, rows) = legend(series);
    let mut svg = open(frame.title, HEIGHT + ROW * rows as f64);
    grid(&mut svg, frame, &x, &y);
    for one in series {
        let places: Vec<(f64, f64)> =
            one.points.iter().map(|(px, py)| (x.place(*px), y.place(*py))).collect();
        let line: Vec<String> = places.iter().map(|(px, py)| format!("{px:.1},{py:.1}")).collect();
        let (colour, dash) = style(one.look.number);
        let _ = write!(
            svg,
            "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='2' stroke-linejoin='round' \
             stroke-dasharray='{dash}'><title>{}</title></polyline>",
            line.join(" "),
            escape(one.look.name)
        );
        if frame.dots {
            for ((x, y), (px, py)) in one.points.iter().zip(&places) {
                let tip = format!("{}: {} at {}", one.look.name, number(*y), number(*x));
                svg.push_str(&mark(one.look.number, *px, *py, &tip));
            }
        }
    }
    svg + &legend + "</svg>"
}

fn grid(svg: &mut String, frame: &Frame<'_>, x: &Axis, y: &Axis) {
    let (right, low) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for value in y.marks() {
        let at = y.place(value);
        let _ = write!(
            svg,
            "<path d='M{LEFT} {at:.1}H{right}' stroke='#e3e7eb'/>\
             <text class='axis' x='{}' y='{:.1}' text-anchor='end'>{}</text>",
            LEFT - 7.0,
            at + 4.0,
            mark_text(value)
        );
    }
    // Marks too close to each other would overlap: only those with room are named.
    let mut free = f64::NEG_INFINITY;
    for (value, text) in frame.marks.iter().filter(|(value, _)| (x.low.exp()..=x.high.exp()).contains(value))
    {
        let at = x.place(*value);
        let half = 3.8 * text.chars().count() as f64;
        let _ = write!(svg, "<path d='M{at:.1} {TOP}V{low}' stroke='#eef1f4'/>");
        if at - half >= free && at + half <= WIDTH {
            let _ = write!(
                svg,
                "<text class='axis' x='{at:.1}' y='{}' text-anchor='middle'>{}</text>",
                low + 17.0,
                escape(text)
            );
            free = at + half + 4.0;
        }
    }
    let _ = write!(
        svg,
        "<path d='M{LEFT} {TOP}V{low}H{right}' fill='none' stroke='#5b6570'/>\
         <text x='{}' y='{}' text-anchor='middle'>{}</text>\
         <text transform='translate(13 {}) rotate(-90)' text-anchor='middle'>{}</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 8.0,
        escape(frame.x),
        (low + TOP) / 2.0,
        escape(frame.y)
    );
}

/// A bar: its looks, median, least and greatest.
pub(crate) type Bar<'a> = (Look<'a>, (f64, f64, f64));

/// Horizontal bars with their values and spread, from nothing; the best first.
pub(crate) fn bars(title: &str, unit: &str, less_is_better: bool, rows: &[Bar<'_>]) -> String {
    const ROW: f64 = 25.0;
    const AXIS: f64 = 34.0;
    let longest =
        rows.iter().map(|(_, (_, _, high))| *high).filter(|high| high.is_finite()).fold(0.0, f64::max);
    if longest <= 0.0 {
        return String::new();
    }
    let mut rows: Vec<&Bar<'_>> = rows.iter().collect();
    rows.sort_by(|a, b| if less_is_better { a.1.0.total_cmp(&b.1.0) } else { b.1.0.total_cmp(&a.1.0) });
    let base = ROW * rows.len() as f64 + 6.0;
    let (left, right) = (188.0, WIDTH - 74.0);
    let place = |value: f64| left + (right - left) * (value / longest).clamp(0.0, 1.0);
    let mut svg = open(title, base + AXIS);
    for step in linear_marks(longest) {
        let at = place(step);
        let _ = write!(
            svg,
            "<path d='M{at:.1} 2V{base}' stroke='#e3e7eb'/>\
             <text class='axis' x='{at:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
            base + 14.0,
            mark_text(step)
        );
    }
    for (at, (look, (median, low, high))) in rows.iter().enumerate() {
        let top = 5.0 + ROW * at as f64;
        let (colour, _) = style(look.number);
        let middle = top + 8.0;
        let _ = write!(
            svg,
            "<text x='{:.0}' y='{:.1}' text-anchor='end'{}>{}</text>\
             <rect x='{left}' y='{top:.1}' width='{:.1}' height='16' rx='1.5' fill='{colour}'/>\
             <path d='M{l:.1} {middle:.1}H{h:.1}M{l:.1} {a:.1}v8M{h:.1} {a:.1}v8' stroke='#111' stroke-width='1.2'/>\
             <text x='{:.1}' y='{:.1}'>{}</text>",
            left - 8.0,
            top + 12.5,
            if look.number == 0 { " class='strong'" } else { "" },
            escape(&cut(look.name)),
            (place(*median) - left).max(1.0),
            place(*high) + 7.0,
            top + 12.5,
            number(*median),
            l = place(*low),
            h = place(*high),
            a = middle - 4.0,
        );
    }
    let better = if less_is_better { "less is better" } else { "more is better" };
    let _ = write!(
        svg,
        "<path d='M{left} 2V{base}' stroke='#5b6570'/>\
         <text x='{}' y='{:.1}' text-anchor='middle'>{} ({better})</text></svg>",
        (left + right) / 2.0,
        base + AXIS - 3.0,
        escape(unit)
    );
    svg
}

/// A number at an axis, without zeros that say nothing.
fn mark_text(value: f64) -> String {
    let text = number(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Four or five round numbers from nothing to the longest.
fn linear_marks(longest: f64) -> Vec<f64> {
    let rough = longest / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|digit| digit * power).find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    (0..=4).map(|n| f64::from(n) * step).filter(|mark| *mark <= longest * 1.001).collect()
}

fn cut(name: &str) -> String {
    const MOST: usize = 28;
    if name.chars().count() <= MOST {
        return name.to_string();
    }
    name.chars().take(MOST - 1).chain(['…']).collect()
}

fn open(title: &str, height: f64) -> String {
    let title = escape(title);
    format!(
        "<svg class='chart' viewBox='0 0 {WIDTH} {height:.0}' role='img' aria-label='{title}'><title>{title}</title>"
    )
}

/// A small figure whose shape goes with the number.
fn mark(number: usize, x: f64, y: f64, tip: &str) -> String {
    let (colour, _) = style(number);
    let tip = if tip.is_empty() { String::new() } else { format!("<title>{}</title>", escape(tip)) };
    match number % 4 {
        0 => format!("<circle cx='{x:.1}' cy='{y:.1}' r='3.4' fill='{colour}'>{tip}</circle>"),
        1 => format!(
            "<rect x='{:.1}' y='{:.1}' width='6' height='6' fill='{colour}'>{tip}</rect>",
            x - 3.0,
            y - 3.0
        ),
        2 => format!("<path d='M{x:.1} {:.1}l4 7h-8z' fill='{colour}'>{tip}</path>", y - 4.2),
        _ => format!("<path d='M{x:.1} {:.1}l4 4l-4 4l-4 -4z' fill='{colour}'>{tip}</path>", y - 4.0),
    }
}

/// The names below the curves in rows, and how many rows these are.
fn legend(series: &[Series<'_>]) -> (String, usize) {
    const KEY: f64 = 34.0;
    let (mut text, mut rows, mut x) = (String::new(), 1_usize, LEFT);
    for one in series {
        let name = cut(one.look.name);
        // Letters of 12 px are some 6.6 px wide.
        let width = KEY + 8.0 + 6.6 * name.chars().count() as f64;
        if x + width > WIDTH && x > LEFT {
            (rows, x) = (rows + 1, LEFT);
        }
        let (colour, dash) = style(one.look.number);
        let middle = HEIGHT + ROW * rows as f64 - ROW / 2.0;
        let _ = write!(
            text,
            "<path d='M{x:.0} {middle:.0}h{KEY}' stroke='{colour}' stroke-width='2.4' stroke-dasharray='{dash}'/>{}\
             <text x='{:.0}' y='{:.0}'>{}</text>",
            mark(one.look.number, x + KEY / 2.0, middle, ""),
            x + KEY + 5.0,
            middle + 4.0,
            escape(&name)
        );
        x += width + 14.0;
    }
    (text, rows)
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
        for (low, high) in [(60.0, 95.0), (1.0, 1.01), (0.3, 90.0), (1.0, 1e9)] {
            let marks = Axis::new([low, high].into_iter(), 0.0, 1.0).unwrap().marks().len();
            assert!((2..=12).contains(&marks), "{low} to {high}: {marks}");
        }
        assert!(Axis::new([0.0].into_iter(), 0.0, 1.0).is_none());
        assert_eq!(linear_marks(87.0), [0.0, 25.0, 50.0, 75.0]);
        assert_eq!([0.0, 0.5, 30.0, 3_000.0].map(mark_text), ["0", "0.5", "30", "3\u{202f}000"]);
    }

    #[test]
    fn untrusted_names_stay_text() {
        let look = Look { name: "<a>", number: 99 };
        let series = [Series { look, points: vec![(1.0, 2.0), (10.0, 3.0)] }];
        let marks = [(1.0, "1".to_string())];
        let frame = Frame { title: "t", x: "x", y: "y", marks: &marks, dots: true };
        let svg = curves(&frame, &series) + &bars("t", "µs", true, &[(look, (1.0, 0.5, 2.0))]);
        assert!(svg.contains("&lt;a&gt;") && !svg.contains("<a>"), "{svg}");
    }
}

// Pictures of what was published: bars from edge to edge with their intervals, or a heat map.

// A number as the API writes it exactly: "1000", "0.5", "1/3".
export function exactNumber(text) {
  const [top, bottom = "1"] = String(text).split("/");
  return Number(top) / Number(bottom);
}

// The axes of a publication that can be drawn, with how wide the cells of this table are.
export function gridAxes(release) {
  const told = release.published?.axes;
  if (!told || told.length > 2) return null;
  const keys = release.columns.map((one, place) => ({ ...one, place })).filter((one) => one.key);
  return told.map((axis, i) => {
    const starts = new Set(release.rows.map((row) => row[keys[i].place]));
    const [low, high] = [exactNumber(axis.low), exactNumber(axis.high)];
    return { name: keys[i].name, place: keys[i].place, low, high, width: (high - low) / starts.size };
  });
}

// What is drawn of a publication's table: every cell with its ends.
export function gridPicture(release, column) {
  const axes = gridAxes(release);
  const at = release.columns.findIndex((one) => one.name === column);
  const ends = release.intervals[column] ?? [];
  const points = release.rows.map((row, i) => {
    const [low, high] = ends[i] ?? [null, null];
    const point = { value: row[at], low, high };
    axes.forEach((axis, n) => {
      const start = Number(row[axis.place]);
      Object.assign(point, { [`from${n}`]: start, [`to${n}`]: start + axis.width, [`mid${n}`]: start + axis.width / 2 });
    });
    return { ...point, main: point.from0, split: point.from1 ?? null };
  });
  return { grid: axes, column, points, scale: "grid", name: axes.map((one) => one.name).join(" and "), split: null, told: "" };
}

// How whole numbers between two are written: years without a comma, and no tick between two cells.
export function wholeTicks(low, high, step) {
  return { format: Math.max(Math.abs(low), Math.abs(high)) < 10000 ? "d" : ",d", tickMinStep: step };
}

const ticksOf = ({ low, high, width }) => (
  Number.isInteger(low) && Number.isInteger(width) ? wholeTicks(low, high, width) : {});

function ends(axis, n, title) {
  return { field: `from${n}`, type: "quantitative", title,
    scale: { domain: [axis.low, axis.high], nice: false, zero: false },
    axis: { grid: false, tickCount: 8, labelOverlap: true, ...ticksOf(axis) } };
}

const NUMBER = { type: "quantitative", format: ",.4~r" };

export function gridLayers(drawn, colours) {
  const [first, second] = drawn.grid;
  const tooltip = [["value", drawn.column], ["low", "low"], ["high", "high"]].map(([field, title]) => ({ field, title, ...NUMBER }));
  const where = drawn.grid.flatMap((axis, n) => {
    const written = { ...NUMBER, format: ticksOf(axis).format ?? NUMBER.format };
    return [{ field: `from${n}`, title: `${axis.name} from`, ...written }, { field: `to${n}`, title: "to", ...written }];
  });
  const place = { x: ends(first, 0, first.name), x2: { field: "to0" } };
  if (second) {
    return [{ mark: { type: "rect" }, encoding: { ...place, y: ends(second, 1, second.name), y2: { field: "to1" },
      color: { field: "value", type: "quantitative", title: drawn.column, scale: { type: "sqrt", range: colours.heat },
        legend: { gradientLength: 160 } },
      tooltip: [...where, ...tooltip] } }];
  }
  const count = (field) => ({ field, type: "quantitative", title: drawn.column, axis: { domain: false, ticks: false, tickCount: 5 } });
  const middle = { x: { field: "mid0", type: "quantitative" } };
  const known = [{ filter: "isValid(datum.low) && isValid(datum.high)" }];
  return [
    { mark: { type: "bar", color: colours.bar, binSpacing: 1 },
      encoding: { ...place, y: count("value"), y2: { datum: 0 }, tooltip: [...where, ...tooltip] } },
    { transform: known, mark: { type: "rule", color: colours.whisker, strokeWidth: 1.2, opacity: drawn.points.length > 24 ? 0.55 : 1 },
      encoding: { ...middle, y: count("low"), y2: { field: "high" } } },
  ];
}

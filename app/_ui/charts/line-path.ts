interface Box {
  width: number;
  height: number;
  pad: number;
}

/** Returns an SVG path through `values`, spread over the width, with zero at the bottom and the largest value at the top. */
export function linePath(values: readonly number[], box: Box): string {
  const top = Math.max(...values, Number.MIN_VALUE);
  const step = values.length > 1 ? box.width / (values.length - 1) : 0;
  return values
    .map((value, index) => {
      const y = box.height - box.pad - (Math.max(0, value) / top) * (box.height - 2 * box.pad);
      return `${index === 0 ? "M" : "L"}${(index * step).toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
}

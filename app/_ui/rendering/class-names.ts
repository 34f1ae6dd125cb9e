/** Joins class names; false, null and undefined are left out. */
export const classNames = (...names: readonly (string | false | null | undefined)[]): string =>
  names.filter((name) => typeof name === "string" && name !== "").join(" ");

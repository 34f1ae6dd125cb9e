/**
 * Returns output of a program as a terminal shows it: without colors and cursor moves, and of a redrawn line only the last state.
 */
export const withoutRedrawn = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    // oxlint-disable-next-line no-control-regex -- these are what is looked for
    .replace(/\u001b(\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(\u0007|\u001b\\)|[@-_])/g, "")
    .split("\n")
    .map((line) => line.split("\r").findLast((part) => part !== "") ?? "")
    .join("\n")
    // oxlint-disable-next-line no-control-regex -- and nothing else that a page should not be shown
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");

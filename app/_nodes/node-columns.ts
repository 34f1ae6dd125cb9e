import type { Column } from "../_ui/tables/table.tsx";

/** Columns of the node list: all of them, the default ones, and the conversion of a choice to text and back. */

interface NodeColumn extends Column {
  key: string;
  /** Name in the column menu, for columns with an empty head. */
  name: string;
  /** Whether the column is shown by default; `always` cannot be hidden. */
  shown: "always" | "usually" | "on request";
}

export const NODE_COLUMNS: readonly NodeColumn[] = [
  { key: "node", head: "Node", name: "Node", shown: "always" },
  { key: "run", head: "Run", name: "Run", from: "md", shown: "usually" },
  { key: "tide", head: "Tide", name: "Tide", shown: "usually" },
  { key: "backlog", head: "Backlog", name: "Backlog", align: "right", from: "lg", shown: "usually" },
  { key: "up", head: "Up", name: "Up", align: "right", from: "lg", shown: "usually" },
  {
    key: "spark",
    head: "",
    label: "Upload rate, five minutes",
    name: "Upload rate, five minutes",
    from: "room",
    shown: "usually",
  },
  { key: "down", head: "Down", name: "Down", align: "right", from: "more room", shown: "usually" },
  { key: "rtt", head: "RTT", name: "RTT", align: "right", from: "room", shown: "usually" },
  { key: "cpu", head: "CPU", name: "Worker CPU", align: "right", from: "lg", shown: "on request" },
  { key: "disk", head: "Disk free", name: "Disk free", align: "right", from: "lg", shown: "on request" },
  { key: "moving", head: "Transfers", name: "Transfers", align: "right", from: "lg", shown: "on request" },
  { key: "bucket", head: "Bucket", name: "Bucket", from: "lg", shown: "on request" },
  { key: "fleet", head: "Fleet", name: "Fleet", from: "lg", shown: "on request" },
  { key: "version", head: "Worker", name: "Worker version", from: "lg", shown: "on request" },
  { key: "seen", head: "Last word", name: "Last word", align: "right", from: "lg", shown: "on request" },
  { key: "state", head: "State", name: "State", align: "right", shown: "always" },
];

export const USUAL_COLUMNS = NODE_COLUMNS.filter(({ shown }) => shown !== "on request");

/** Parses the stored choice, which can be any text. Returns the default columns for null. */
export function columnsOf(text: string | null): readonly NodeColumn[] {
  if (text === null) return USUAL_COLUMNS;
  const wanted = new Set(text.split(" "));
  return NODE_COLUMNS.filter(({ key, shown }) => shown === "always" || wanted.has(key));
}

/** Returns the text with one column toggled; null for the default choice, so that future default columns appear. */
export function withColumn(text: string | null, key: string): string | null {
  const now = new Set(columnsOf(text).map((column) => column.key));
  if (!now.delete(key)) now.add(key);
  const isUsual = NODE_COLUMNS.every((column) => now.has(column.key) === (column.shown !== "on request"));
  return isUsual ? null : NODE_COLUMNS.flatMap((column) => (now.has(column.key) ? [column.key] : [])).join(" ");
}

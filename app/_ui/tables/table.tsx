import { Link } from "../navigation/link.tsx";
import type { ComponentProps, ReactNode } from "react";
import { classNames } from "../rendering/class-names.ts";

/**
 * Smallest width at which a column is shown: of the screen, or of the table itself (`room`, `more room`) where it may share
 * the width. On narrow screens the first and the last cells remain, as a list with two lines per row.
 */
type From = "always" | "sm" | "md" | "lg" | "xl" | "room" | "more room";

const SHOWN: Record<From, string> = {
  always: "",
  sm: "max-sm:hidden",
  md: "max-md:hidden",
  lg: "max-lg:hidden",
  xl: "max-xl:hidden",
  room: "max-lg:hidden @max-[824px]:hidden",
  "more room": "max-lg:hidden @max-[912px]:hidden",
};

export interface Column {
  key: string;
  /** Empty for a column whose cells explain themselves; then screen readers announce `label`. */
  head: string;
  label?: string;
  align?: "left" | "right";
  from?: From;
  /** Marks the last column shown on narrow screens, where later columns are hidden. */
  edge?: "narrow";
}

/** Column by which a table is sorted, and the handler of a click on a head. */
export interface TableSort {
  keys: ReadonlySet<string>;
  column: string | null;
  direction: "ascending" | "descending";
  onPress: (key: string) => void;
}

interface TableProps {
  label: string;
  columns: readonly Column[];
  sort?: TableSort | undefined;
  children: ReactNode;
}

export function Table({ label, columns, sort, children }: TableProps) {
  return (
    <table aria-label={label} className="w-full border-collapse">
      <thead>
        <tr>
          {columns.map((column) => (
            <th
              key={column.key}
              scope="col"
              aria-sort={sort?.column === column.key ? sort.direction : undefined}
              className={classNames(
                "border-b border-line px-1.5 py-2 text-12 sm:px-2 font-medium whitespace-nowrap text-faint first:pl-4 last:pr-4",
                column.align === "right" ? "text-right" : "text-left",
                SHOWN[column.from ?? "always"],
                column.edge === "narrow" && "max-sm:pr-4",
              )}
            >
              {column.head === "" ? (
                <span className="sr-only">{column.label ?? column.key}</span>
              ) : sort?.keys.has(column.key) === true ? (
                <SortHead column={column} sort={sort} />
              ) : (
                column.head
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="[&>tr:last-child>td]:border-b-0">{children}</tbody>
    </table>
  );
}

/** Shows a column head as a button that sorts by the column. */
export function SortHead({ column, sort }: { column: Pick<Column, "key" | "head">; sort: TableSort }) {
  const isSorted = sort.column === column.key;
  return (
    <button
      type="button"
      onClick={() => sort.onPress(column.key)}
      className={classNames("min-h-6 min-w-6 rounded-1 hover:text-ink", isSorted && "text-ink")}
    >
      {column.head}
      {isSorted && <span aria-hidden>{sort.direction === "ascending" ? " ↑" : " ↓"}</span>}
    </button>
  );
}

export function Row({ className, ...rest }: ComponentProps<"tr">) {
  return <tr {...rest} className={classNames("group relative hover:bg-bg focus-within:bg-bg", className)} />;
}

interface CellProps extends ComponentProps<"td"> {
  align?: "left" | "right";
  from?: From;
}

export function Cell({ align = "left", from = "always", className, ...rest }: CellProps) {
  return (
    <td
      {...rest}
      className={classNames(
        "border-b border-line px-1.5 py-[7px] align-middle first:pl-4 last:pr-4 sm:px-2",
        align === "right" && "nums text-right whitespace-nowrap",
        SHOWN[from],
        className,
      )}
    />
  );
}

/** Shows two lines in one cell: the main value, and details in quieter text. */
export function TwoLines({ first, second }: { first: ReactNode; second: ReactNode }) {
  return (
    <div className="min-w-0">
      <div className="truncate">{first}</div>
      <div className="nums truncate text-12 text-faint">{second}</div>
    </div>
  );
}

/** Shows a link in a row that covers the whole row. The keys `j` and `k` move between these links. */
export function RowLink({ className, ...rest }: ComponentProps<typeof Link>) {
  return (
    <Link
      {...rest}
      data-row-link
      className={classNames("font-mid after:absolute after:inset-0 focus-visible:outline-offset-4", className)}
    />
  );
}

/** Takes the height of the rows of a long list that are not drawn. */
export function SpacerRow({ columns, height }: { columns: number; height: number }) {
  return (
    <tr aria-hidden>
      <td colSpan={columns} className="border-0 p-0" style={{ height }}>
        {"\u00a0"}
      </td>
    </tr>
  );
}

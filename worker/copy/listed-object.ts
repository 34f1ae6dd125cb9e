/**
 * The objects of one page of a list. There may be a million objects, so what is known of each besides its key lies side by side with that
 * of others: a third of what an object and texts of its own would take.
 */
export interface ListedObject {
  key: string;
  sizeBytes: number;
  /** With its quotes; null where the store gives none. */
  etag: string | null;
  /** Epoch ms by the store's clock; null where it gives none. */
  modifiedAtMs: number | null;
}

const MD5_BYTES = 16;
/** Most ETags are an MD5, of the bytes or of those of so many parts. */
const MD5_ETAG = /^"([0-9a-f]{32})(?:-([1-9]\d{0,4}))?"$/;
const MOST_PARTS = 2 ** 16 - 1;

export class ListedRows {
  readonly #prefix: string;
  readonly #sizes: Float64Array;
  /** NaN: none. */
  readonly #dates: Float64Array;
  readonly #md5s: Buffer;
  readonly #parts: Uint16Array;
  /** ETags that are something else, or none, by row. */
  #others: Map<number, string | null> | null = null;
  #used = 0;

  /** `prefix`: of all keys. */
  constructor(prefix: string, mostRows: number) {
    this.#prefix = prefix;
    this.#sizes = new Float64Array(mostRows);
    this.#dates = new Float64Array(mostRows);
    this.#md5s = Buffer.allocUnsafeSlow(mostRows * MD5_BYTES);
    this.#parts = new Uint16Array(mostRows);
  }

  add({ key, sizeBytes, etag, modifiedAtMs }: ListedObject): ListedRow {
    const row = this.#used++;
    if (row >= this.#sizes.length) throw new RangeError("more rows than there is room for");
    this.#sizes[row] = sizeBytes;
    this.#dates[row] = modifiedAtMs ?? NaN;
    const [, md5, parts = "0"] = MD5_ETAG.exec(etag ?? "") ?? [];
    if (md5 === undefined || Number(parts) > MOST_PARTS) {
      this.#others ??= new Map();
      this.#others.set(row, etag);
    } else {
      this.#md5s.write(md5, row * MD5_BYTES, "hex");
      this.#parts[row] = Number(parts);
    }
    return new ListedRow(key, { rows: this, row });
  }

  relativeOf(key: string): string {
    return key.slice(this.#prefix.length);
  }

  sizeOf(row: number): number {
    return this.#sizes[row] ?? 0;
  }

  dateOf(row: number): number | null {
    const date = this.#dates[row] ?? NaN;
    return Number.isNaN(date) ? null : date;
  }

  etagOf(row: number): string | null {
    const other = this.#others?.get(row);
    if (other !== undefined) return other;
    const md5 = this.#md5s.toString("hex", row * MD5_BYTES, (row + 1) * MD5_BYTES);
    const parts = this.#parts[row] ?? 0;
    return parts === 0 ? `"${md5}"` : `"${md5}-${parts}"`;
  }
}

/** One of them. */
export class ListedRow implements ListedObject {
  readonly key: string;
  readonly #rows: ListedRows;
  readonly #row: number;

  constructor(key: string, place: { rows: ListedRows; row: number }) {
    this.key = key;
    this.#rows = place.rows;
    this.#row = place.row;
  }

  get at(): "store" {
    return "store";
  }

  /** Its key without the prefix that was asked for. */
  get relative(): string {
    return this.#rows.relativeOf(this.key);
  }

  get sizeBytes(): number {
    return this.#rows.sizeOf(this.#row);
  }

  get etag(): string | null {
    return this.#rows.etagOf(this.#row);
  }

  get modifiedAtMs(): number | null {
    return this.#rows.dateOf(this.#row);
  }
}

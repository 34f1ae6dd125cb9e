import type { PlannedRequest } from "./fault-class.ts";
import { PART_BYTES, type Payload } from "./payload.ts";
import type { Direction } from "./toxics.ts";

/** The requests a transfer will make when nothing goes wrong: what a schedule of faults is drawn from. */
export interface PlannedRequests {
  readonly data: PlannedRequest[];
  readonly control: PlannedRequest[];
}

export function planRequests(about: {
  direction: Direction;
  payload: Payload;
  key: string;
  partBytes?: number;
}): PlannedRequests {
  const { direction, payload, key, partBytes = PART_BYTES } = about;
  const data: PlannedRequest[] = [];
  const control: PlannedRequest[] = [];
  const first = (op: string, target: string) => control.push({ op, key: target, attempt: 1, bytes: 0 });
  if (direction === "down" && payload.shape === "many") {
    first("HeadObject", key);
    first("ListObjectsV2", "");
  }
  for (const [name, sizeBytes] of Object.entries(payload.sizes)) {
    const target = payload.shape === "one" ? key : `${key}/${name}`;
    const lengths = partLengths(sizeBytes, partBytes);
    first("HeadObject", target);
    if (direction === "down") {
      for (const [index, bytes] of lengths.entries()) {
        if (bytes > 0) data.push({ op: "GetObject", key: target, attempt: index + 1, bytes });
      }
    } else if (lengths.length === 1) {
      data.push({ op: "PutObject", key: target, attempt: 1, bytes: sizeBytes });
    } else {
      first("CreateMultipartUpload", target);
      first("CompleteMultipartUpload", target);
      for (const [index, bytes] of lengths.entries()) {
        data.push({ op: "UploadPart", key: target, partNumber: index + 1, attempt: 1, bytes });
      }
    }
  }
  return { data, control };
}

function partLengths(sizeBytes: number, partBytes: number): number[] {
  if (sizeBytes <= partBytes) return [sizeBytes];
  const whole = Math.floor(sizeBytes / partBytes);
  const rest = sizeBytes - whole * partBytes;
  return [...Array.from({ length: whole }, () => partBytes), ...(rest === 0 ? [] : [rest])];
}

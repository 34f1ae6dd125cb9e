/** Decides whether a Complete request is valid and which stored parts form the object. */
import type { Part, Upload } from "./catalog-uploads.ts";
import { checksumElement } from "./checksum.ts";
import type { Quirks } from "./quirks.ts";
import { S3Error } from "./s3-error.ts";
import { childrenNamed, childText, parseXml } from "./xml.ts";

/** Inputs of the decision. `stored` is in part order. */
export type CompletionInput = {
  readonly documentXml: string;
  readonly upload: Upload;
  readonly stored: readonly Part[];
  readonly quirks: Pick<Quirks, "equalParts" | "maxParts" | "minPartBytes">;
};

type AskedPart = { readonly number: number; readonly etag: string; readonly checksum: string | undefined };

function askedParts(input: CompletionInput): readonly AskedPart[] {
  const root = parseXml(input.documentXml);
  const parts = childrenNamed(root, "Part");
  if (root.name !== "CompleteMultipartUpload" || parts.length === 0 || parts.length > 10_000) {
    throw new S3Error(
      "MalformedXML",
      "The XML you provided was not well-formed or did not validate against our schema.",
    );
  }
  const { algorithm } = input.upload;
  return parts.map((part) => ({
    number: Number(childText(part, "PartNumber")),
    etag: (childText(part, "ETag") ?? "").trim().replaceAll('"', ""),
    checksum: algorithm === undefined ? undefined : childText(part, checksumElement(algorithm)),
  }));
}

function match(asked: AskedPart, stored: ReadonlyMap<number, Part>, upload: Upload): Part {
  const part = stored.get(asked.number);
  const wrong = part === undefined || part.md5 !== asked.etag || (asked.checksum ?? part.checksum) !== part.checksum;
  if (wrong) {
    throw new S3Error(
      "InvalidPart",
      "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
      { fields: { UploadId: upload.id, PartNumber: String(asked.number), ETag: asked.etag } },
    );
  }
  if (upload.type === "COMPOSITE" && asked.checksum === undefined) {
    throw new S3Error(
      "InvalidRequest",
      `The upload was created using a ${upload.algorithm?.toLowerCase()} checksum. The complete request must include the checksum for each part. It was missing for part ${asked.number} in the request.`,
    );
  }
  return part;
}

function checkSizes(parts: readonly Part[], quirks: CompletionInput["quirks"]): void {
  const allButLast = parts.slice(0, -1);
  for (const part of allButLast) {
    if (part.sizeBytes >= quirks.minPartBytes) continue;
    throw new S3Error("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size", {
      fields: {
        ProposedSize: String(part.sizeBytes),
        MinSizeAllowed: String(quirks.minPartBytes),
        PartNumber: String(part.number),
      },
    });
  }
  const [first] = parts;
  const last = parts.at(-1);
  if (quirks.equalParts === "off" || first === undefined || last === undefined) return;
  if (allButLast.some((part) => part.sizeBytes !== first.sizeBytes) || last.sizeBytes > first.sizeBytes) {
    throw new S3Error("InvalidPart", "All non-trailing parts must have the same length.");
  }
}

/**
 * Returns the parts of the object, in order. Throws MalformedXML, InvalidPart, InvalidPartOrder, EntityTooSmall,
 * InvalidArgument or InvalidRequest.
 */
export function planCompletion(input: CompletionInput): readonly Part[] {
  const asked = askedParts(input);
  const stored = new Map(input.stored.map((part) => [part.number, part]));
  for (const [index, part] of asked.entries()) {
    if (index > 0 && part.number <= (asked[index - 1]?.number ?? 0)) {
      throw new S3Error(
        "InvalidPartOrder",
        "The list of parts was not in ascending order. Parts must be ordered by part number.",
      );
    }
  }
  if (asked.length > input.quirks.maxParts) {
    throw new S3Error("InvalidArgument", `An upload can have at most ${input.quirks.maxParts} parts.`);
  }
  const parts = asked.map((part) => match(part, stored, input.upload));
  checkSizes(parts, input.quirks);
  return parts;
}

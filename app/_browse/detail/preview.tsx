"use client";
import { useQuery } from "@tanstack/react-query";
import type { ObjectDetail } from "#protocol/buckets/bucket.ts";
import { formatCount } from "#protocol/base/units.ts";
import { hub } from "../../_hub/queries/client.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { Skeleton } from "../../_ui/loading/skeleton.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

/** Most tensors shown; the others are counted. */
const TENSORS = 100;
const IMAGE_NAME = /\.(png|jpe?g|gif|webp)$/i;
/** Largest image that the hub returns, in bytes. */
const MOST_IMAGE_BYTES = 2 * 1024 * 1024;

/**
 * Previews the content of an object without executing any of it. Text is shown as text. An image is shown only when the hub
 * recognized an image in the object's bytes.
 */
export function Preview({ profileId, object }: { profileId: string; object: ObjectDetail }) {
  return IMAGE_NAME.test(object.key) && object.sizeBytes <= MOST_IMAGE_BYTES ? (
    <Picture profileId={profileId} object={object} />
  ) : (
    <Inside profileId={profileId} object={object} />
  );
}

function Picture({ profileId, object }: { profileId: string; object: ObjectDetail }) {
  const { key, etag } = object;
  const image = useQuery({
    queryKey: ["bucket", "image", profileId, key, etag],
    queryFn: ({ signal }) => hub.bucket.image.query({ profileId, key }, { signal }),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  if (image.isError && faultOf(image.error).code === "BAD_INPUT")
    return <Inside profileId={profileId} object={object} />;
  if (image.isError) return <FaultNote fault={faultOf(image.error)} onRetry={() => void image.refetch()} />;
  if (image.data === undefined) return <Skeleton className="h-32 w-full" />;
  return (
    <img
      src={`data:${image.data.type};base64,${image.data.base64}`}
      alt={`What ${visibleText(key.slice(0, 200))} shows`}
      className="max-h-72 max-w-full rounded-1 border border-line bg-sunk object-contain"
    />
  );
}

function Inside({ profileId, object }: { profileId: string; object: ObjectDetail }) {
  const { key, etag } = object;
  const look = useQuery({
    queryKey: ["bucket", "inside", profileId, key, etag],
    queryFn: ({ signal }) => hub.inspect.file.query({ place: { profileId, key, etag }, tensors: TENSORS }, { signal }),
    staleTime: Infinity,
    gcTime: 60_000,
    retry: false,
  });
  if (look.isError) return <FaultNote fault={faultOf(look.error)} onRetry={() => void look.refetch()} />;
  if (look.data === undefined) return <Skeleton className="h-32 w-full" />;
  const { format, preview, tensors, tensorsOmitted, parameters, metadata, warnings, fault } = look.data;
  return (
    <div className="flex flex-col gap-2">
      <p className="nums text-12 text-soft">
        {format}
        {parameters > 0 &&
          ` · ${formatCount(tensors.length + tensorsOmitted)} tensors, ${formatCount(parameters)} parameters`}
      </p>
      {preview !== null && (
        <pre
          aria-label="Beginning of the text"
          className="rounded-md border border-line bg-bg px-3 py-2 font-mono text-12 leading-[18px] [overflow-wrap:anywhere] whitespace-pre-wrap"
        >
          {preview.split("\n").map(visibleText).join("\n")}
        </pre>
      )}
      {metadata.length > 0 && <Pairs label="Metadata of the file" pairs={metadata} />}
      {tensors.length > 0 && (
        <div className="rounded-md border border-line">
          <table aria-label="Tensors" className="w-full text-12">
            <tbody>
              {tensors.map((tensor) => (
                <tr key={tensor.name} className="border-b border-line last:border-0">
                  <td className="px-2 py-1 font-mono [overflow-wrap:anywhere]">{visibleText(tensor.name)}</td>
                  <td className="nums px-2 py-1 whitespace-nowrap text-soft">
                    {visibleText(tensor.dtype)} [{tensor.shape.join(", ")}]
                  </td>
                  <td className="nums px-2 py-1 text-right whitespace-nowrap text-faint">
                    {formatBytes(tensor.sizeBytes)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {tensorsOmitted > 0 && <p className="text-12 text-faint">{formatCount(tensorsOmitted)} more tensors.</p>}
      {warnings.map((warning) => (
        <p key={warning} className="text-12 text-faint">
          {visibleText(warning)}
        </p>
      ))}
      {fault !== null && <FaultNote fault={fault} />}
    </div>
  );
}

export function Pairs({ label, pairs }: { label: string; pairs: readonly { name: string; value: string }[] }) {
  return (
    <dl aria-label={label} className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5 text-12">
      {pairs.map(({ name, value }) => (
        <div key={name} className="contents">
          <dt className="max-w-40 truncate text-faint">{visibleText(name)}</dt>
          <dd className="font-mono [overflow-wrap:anywhere]">{visibleText(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

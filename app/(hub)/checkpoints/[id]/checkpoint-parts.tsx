"use client";
import { usePathname, useSearchParams } from "next/navigation";
import type { CheckpointView } from "#protocol/wire/views.ts";
import { useAddressWord } from "../../../_hub/address/address.ts";
import { FileList } from "../../../_inspect/file-list.tsx";
import { FilterWords } from "../../../_ui/controls/filter-words.tsx";
import { onDemand } from "../../../_ui/loading/on-demand.tsx";

const CheckpointInside = onDemand(() =>
  import("../../../_inspect/checkpoint-inside.tsx").then((part) => part.CheckpointInside),
);
const FileInside = onDemand(() => import("../../../_inspect/file-inside.tsx").then((part) => part.FileInside));

const PARTS = [
  { id: "files", label: "Files" },
  { id: "contents", label: "Contents" },
] as const;

/** Shows the files of a checkpoint, their combined content, or one file. The view is kept in the address. */
export function CheckpointParts({ view }: { view: CheckpointView }) {
  const [show, setShow] = useAddressWord("show", "files");
  const [file] = useAddressWord("file", "");
  const path = usePathname();
  const params = useSearchParams();
  if (view.state !== "complete") return <FileList checkpointId={view.id} look="only" />;
  if (file !== "") {
    const back = new URLSearchParams(params);
    // View state of one file does not apply to the next.
    for (const name of ["file", "tensor", "order", "layer", "curve", "as"]) back.delete(name);
    const href = back.size === 0 ? path : `${path}?${back.toString()}`;
    return <FileInside place={{ checkpointId: view.id, path: file }} path={file} back={{ href, label: "All files" }} />;
  }
  return (
    <>
      <FilterWords label="Show" words={PARTS} value={show === "contents" ? "contents" : "files"} onChange={setShow} />
      {show === "contents" ? (
        <CheckpointInside checkpointId={view.id} />
      ) : (
        <FileList checkpointId={view.id} look="inside" downloads={view.sealed === null ? "offered" : "none"} />
      )}
    </>
  );
}

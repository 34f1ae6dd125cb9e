"use client";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { whyKeyRefused } from "#protocol/buckets/browser-transfers.ts";
import { formatCount } from "#protocol/base/units.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { faultOf } from "../_hub/fault-of.ts";
import { usePerson } from "../_hub/person.tsx";
import { profilesQuery } from "../_hub/queries.ts";
import { Button } from "../_ui/button.tsx";
import { Dialog } from "../_ui/dialog.tsx";
import { Field } from "../_ui/field.tsx";
import { TextField } from "../_ui/text-field.tsx";
import { Select } from "../_ui/select.tsx";
import { say } from "../_ui/toast.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import { DropZone } from "./drop-zone.tsx";
import { fromInput, pickFiles, pickFolder, type Chosen } from "./file-access.ts";
import { openDesk } from "./use-desk.ts";
import { formatBytes } from "../_ui/sizes.ts";

interface UploadDialogProps {
  profileId: string | null;
  prefix: string;
  onClose: () => void;
}

const NOTHING: Chosen = { files: [], roots: [] };
const bytesOf = ({ files }: Chosen): number => files.reduce((sum, { file }) => sum + file.size, 0);

/** As a prefix: without a slash in front, with one behind. */
const cleaned = (typed: string): string => {
  const bare = typed.trim().replace(/^\/+|\/+$/g, "");
  return bare === "" ? "" : `${bare}/`;
};

const whyNotPrefix = (prefix: string): string | undefined => {
  const why = prefix === "" ? null : whyKeyRefused(prefix.slice(0, -1));
  return why === null ? undefined : `That cannot be a folder: ${why}.`;
};

/** Files and folders for a bucket: dropped or chosen, then sent by this page. */
export function UploadDialog({ profileId, prefix, onClose }: UploadDialogProps) {
  const person = usePerson();
  const profiles = useQuery(profilesQuery());
  const [chosenProfile, setChosenProfile] = useState(profileId);
  const [typed, setTyped] = useState(prefix);
  const [chosen, setChosen] = useState<Chosen>(NOTHING);
  const [isReading, setReading] = useState(false);
  const [replaces, setReplaces] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const filesInput = useRef<HTMLInputElement>(null);
  const folderInput = useRef<HTMLInputElement>(null);
  const all = profiles.data ?? [];
  const view = all.find(({ id }) => id === chosenProfile) ?? (all.length === 1 ? all[0] : undefined);
  const to = cleaned(typed);
  const wrong = whyNotPrefix(to);

  const take = (reading: Promise<Chosen | null>, input: HTMLInputElement | null): void => {
    setReading(true);
    setError(null);
    reading
      .then((found) => {
        if (found === null) input?.click();
        else
          setChosen((before) => ({
            files: [...before.files, ...found.files],
            roots: [...before.roots, ...found.roots],
          }));
      }, setError)
      .finally(() => setReading(false));
  };
  const send = async (): Promise<void> => {
    if (view === undefined || person === null) return;
    const desk = await openDesk(person.id);
    await desk.add(
      {
        personId: person.id,
        profileId: view.id,
        profileName: view.profile.name,
        bucket: view.profile.bucket,
        prefix: to,
        ifThere: replaces ? "replace" : "keep",
      },
      chosen,
    );
    say("moving", `Uploading to ${view.profile.name}. It is shown under Transfers; keep a page of Tidemark open.`);
    onClose();
  };
  const count = chosen.files.length;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Upload to a bucket"
      intro="The files go from this browser straight to the bucket, not through the hub."
      footer={
        <>
          <span className="nums min-w-0 flex-1 text-soft" aria-live="polite">
            {isReading
              ? "Reading what was chosen"
              : count === 0
                ? "Nothing chosen yet"
                : `${formatCount(count)} ${count === 1 ? "file" : "files"}, ${formatBytes(bytesOf(chosen))}`}
          </span>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="main"
            disabled={count === 0 || view === undefined || wrong !== undefined || isReading}
            onClick={() => void send().catch(setError)}
          >
            Upload
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-1">
        {error !== null && <FaultNote fault={faultOf(error)} />}
        <Field label="Bucket">
          {(ids) => (
            <Select
              {...ids}
              label="Bucket"
              value={view?.id ?? null}
              placeholder="Choose a bucket"
              choices={all.map((one) => ({
                value: one.id,
                label: visibleText(one.profile.name),
                note: visibleText(`s3://${one.profile.bucket}/`),
              }))}
              onChange={setChosenProfile}
            />
          )}
        </Field>
        <TextField
          label="Folder"
          error={wrong}
          hint={`They will lie below ${visibleText(`s3://${view?.profile.bucket ?? "bucket"}/${to}`)}`}
          kind="code"
          value={typed}
          placeholder="datasets/2026/"
          onChange={setTyped}
        />
        <DropZone onDrop={(reading) => take(reading, null)}>
          <span className="w-full text-center">Drop files or folders here, or</span>
          <Button size="small" onClick={() => take(pickFiles(), filesInput.current)}>
            Choose files
          </Button>
          <Button size="small" onClick={() => take(pickFolder(), folderInput.current)}>
            Choose a folder
          </Button>
        </DropZone>
        <input
          ref={filesInput}
          type="file"
          multiple
          hidden
          aria-label="Files"
          onChange={(event) => take(Promise.resolve(fromInput(event.target.files ?? new DataTransfer().files)), null)}
        />
        <input
          ref={(input) => {
            folderInput.current = input;
            input?.setAttribute("webkitdirectory", "");
          }}
          type="file"
          hidden
          aria-label="Folder"
          onChange={(event) => take(Promise.resolve(fromInput(event.target.files ?? new DataTransfer().files)), null)}
        />
        <label className="flex items-center gap-2 pt-2">
          <input type="checkbox" checked={replaces} onChange={(event) => setReplaces(event.target.checked)} />
          Replace objects that are there already
        </label>
        <p className="text-12 text-faint">
          Otherwise existing objects stay: identical ones are skipped, conflicts are reported.
        </p>
      </div>
    </Dialog>
  );
}

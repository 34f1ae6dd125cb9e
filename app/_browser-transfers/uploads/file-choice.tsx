"use client";
import { useRef, type RefObject } from "react";
import { Button } from "../../_ui/controls/button.tsx";
import { fromInput, pickFiles, pickFolder, type Chosen } from "../file-access.ts";
import { DropZone } from "./drop-zone.tsx";

/** Accepts files and folders: dropped, picked with handles, or chosen in a file input where the browser has no such picker. */
export function FileChoice({ onTake }: { onTake: (reading: Promise<Chosen>) => void }) {
  const filesInput = useRef<HTMLInputElement>(null);
  const folderInput = useRef<HTMLInputElement>(null);
  const pick = (picking: Promise<Chosen | null>, input: RefObject<HTMLInputElement | null>): void =>
    onTake(
      picking.then((found) => {
        if (found === null) input.current?.click();
        return found ?? { files: [], roots: [] };
      }),
    );
  const takeInput = ({ files }: HTMLInputElement): void =>
    onTake(Promise.resolve(fromInput(files ?? new DataTransfer().files)));
  return (
    <>
      <DropZone onDrop={onTake}>
        <span className="w-full text-center">Drop files or folders here, or</span>
        <Button size="small" onClick={() => pick(pickFiles(), filesInput)}>
          Choose files
        </Button>
        <Button size="small" onClick={() => pick(pickFolder(), folderInput)}>
          Choose a folder
        </Button>
      </DropZone>
      <input
        ref={filesInput}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={(event) => takeInput(event.currentTarget)}
      />
      <input
        ref={(input) => {
          folderInput.current = input;
          input?.setAttribute("webkitdirectory", "");
        }}
        type="file"
        hidden
        aria-label="Folder"
        onChange={(event) => takeInput(event.currentTarget)}
      />
    </>
  );
}

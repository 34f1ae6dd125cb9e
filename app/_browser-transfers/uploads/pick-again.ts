import { fromInput, pickFiles, pickFolder, type Chosen } from "../file-access.ts";

/**
 * Asks once more for files, or for the folder that they lie below: with handles where the browser gives them, by a file input
 * otherwise. Of a folder only files with wanted names are looked at.
 */
export async function pickAgain(what: Pick, isWanted: (name: string) => boolean): Promise<Chosen> {
  const picked = await (what === "folder" ? pickFolder(isWanted) : pickFiles());
  if (picked !== null) return picked;
  return new Promise((resolve) => {
    const input = document.createElement("input");
    input.type = "file";
    if (what === "folder") input.setAttribute("webkitdirectory", "");
    else input.multiple = true;
    input.addEventListener("change", () => resolve(fromInput(input.files ?? new DataTransfer().files)));
    input.addEventListener("cancel", () => resolve({ files: [], roots: [] }));
    input.click();
  });
}

type Pick = "folder" | "files";

"use client";
import { Button } from "../_ui/controls/button.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { AddNodeForm } from "./add-node-form.tsx";

export function AddNodeDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      width="wide"
      title="Add node"
      intro="A join token lets a machine enroll itself once; after that it has a credential of its own."
      footer={
        <>
          <span className="min-w-0 flex-1 text-soft">The token works without this page. You can close it.</span>
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      <AddNodeForm />
    </Dialog>
  );
}

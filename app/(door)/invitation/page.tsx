import type { Metadata } from "next";
import { CodeForm } from "../_code/code-form.tsx";

export const metadata: Metadata = { title: "Invitation" };

export default function InvitationPage() {
  return <CodeForm kind="invitation" />;
}

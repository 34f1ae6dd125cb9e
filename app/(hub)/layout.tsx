import type { ReactNode } from "react";
import { Gate } from "../_shell/gate.tsx";

export default function HubLayout({ children }: { children: ReactNode }) {
  return <Gate>{children}</Gate>;
}

-- Encrypted checkpoints: what a profile says, the key pairs they are encrypted for, and the key each one is under.
ALTER TABLE "Profile" ADD COLUMN "sealing" TEXT NOT NULL DEFAULT 'off';
ALTER TABLE "Profile" ADD COLUMN "sealKeyId" TEXT;
ALTER TABLE "Checkpoint" ADD COLUMN "sealKeyId" TEXT;

CREATE TABLE "SealKey" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "profileId" TEXT NOT NULL,
    "publicKey" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "isImported" BOOLEAN NOT NULL DEFAULT false,
    "exportedAt" DATETIME,
    "exportedBy" TEXT,
    CONSTRAINT "SealKey_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE TABLE "SealKeySecret" (
    "keyId" TEXT NOT NULL PRIMARY KEY,
    "sealed" TEXT NOT NULL,
    "keyVersion" INTEGER NOT NULL DEFAULT 1,
    "updatedAt" DATETIME NOT NULL,
    CONSTRAINT "SealKeySecret_keyId_fkey" FOREIGN KEY ("keyId") REFERENCES "SealKey" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "SealKey_profileId_idx" ON "SealKey"("profileId");
CREATE INDEX "Checkpoint_sealKeyId_idx" ON "Checkpoint"("sealKeyId");

import { windowsScript } from './powershell.ts';

/** `{paths}` -> `[{path, sddl}]`; without sddl for one that does not exist or cannot be read. */
export const READ_SECURITY = windowsScript(
  'read-security',
  `
$answer = @(foreach ($path in $request.paths) {
  try { @{ path = $path; sddl = (Get-Acl -LiteralPath $path).Sddl } } catch { @{ path = $path; sddl = $null } }
})
`,
  { reads: true },
);

/**
 * `{path, directory, sddl, create}` -> `{sddl}`, read back. Owner and list are set in one call, so a wider list never
 * applies; a new directory (\`create\`) is created with it (System.IO.Directory.CreateDirectory with a
 * DirectorySecurity, .NET Framework). The audit list is not changed: that requires an additional privilege.
 */
export const WRITE_SECURITY = windowsScript(
  'write-security',
  `
if ($request.directory) { $security = New-Object System.Security.AccessControl.DirectorySecurity }
else { $security = New-Object System.Security.AccessControl.FileSecurity }
$security.SetSecurityDescriptorSddlForm($request.sddl, [System.Security.AccessControl.AccessControlSections]'Access, Owner, Group')
if ($request.create -and -not [IO.Directory]::Exists($request.path)) { [void][IO.Directory]::CreateDirectory($request.path, $security) }
elseif ($request.directory) { [IO.Directory]::SetAccessControl($request.path, $security) }
else { [IO.File]::SetAccessControl($request.path, $security) }
$answer = @{ sddl = (Get-Acl -LiteralPath $request.path).Sddl }
`,
);

/** `{drive}` -> `{flushed}`: flushes the file system's cache to the disk (Storage module, Windows Server 2016). */
export const FLUSH_VOLUME = windowsScript(
  'flush-volume',
  `
Write-VolumeCache -DriveLetter $request.drive
$answer = @{ flushed = $request.drive }
`,
);

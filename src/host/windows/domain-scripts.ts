import { windowsScript } from './powershell.ts';

/**
 * `{}` -> `{partOfDomain, domain, computerName}`: Win32_ComputerSystem (CIM), with the name in use, not the pending
 * one.
 */
export const READ_DOMAIN = windowsScript(
  'read-domain',
  `
$computer = Get-CimInstance -ClassName Win32_ComputerSystem
$answer = @{ partOfDomain = [bool]$computer.PartOfDomain; domain = [string]$computer.Domain; computerName = [string]$computer.Name }
`,
  { reads: true },
);

/**
 * `{}` -> `{trusted}`. Without -Repair, Test-ComputerSecureChannel is read-only (Microsoft.PowerShell.Management 5.1).
 */
export const TEST_SECURE_CHANNEL = windowsScript(
  'read-secure-channel',
  `
$answer = @{ trusted = [bool](Test-ComputerSecureChannel) }
`,
  { reads: true },
);

/**
 * `{name, password, user, organizationalUnit, options}` -> `{code}`: JoinDomainOrWorkgroup of Win32_ComputerSystem,
 * whose result is a Win32 error number, the same in every language. null values are left out.
 */
export const JOIN_DOMAIN = windowsScript(
  'join-domain',
  `
$arguments = @{ Name = [string]$request.name; FJoinOptions = [uint32]$request.options }
if ($null -ne $request.password) { $arguments.Password = [string]$request.password }
if ($null -ne $request.user) { $arguments.UserName = [string]$request.user }
if ($null -ne $request.organizationalUnit) { $arguments.AccountOU = [string]$request.organizationalUnit }
$computer = Get-CimInstance -ClassName Win32_ComputerSystem
$joined = Invoke-CimMethod -InputObject $computer -MethodName JoinDomainOrWorkgroup -Arguments $arguments
$answer = @{ code = [long]$joined.ReturnValue }
`,
);

/**
 * `{path, user, password, filter}` -> `{code, detail, account}`: searches for a computer with the account that will
 * join. code: a Win32 error number, 0 where the directory answered; detail: the controller's additional message.
 */
export const FIND_COMPUTER = windowsScript(
  'find-computer',
  `
try {
  $root = [DirectoryServices.DirectoryEntry]::new([string]$request.path, [string]$request.user, [string]$request.password)
  $search = [DirectoryServices.DirectorySearcher]::new($root, [string]$request.filter, [string[]]@('distinguishedName'))
  $found = $search.FindOne()
  $account = $null
  if ($null -ne $found) { $account = [string]$found.Properties['distinguishedName'][0] }
  $answer = @{ code = 0; account = $account }
} catch {
  $cause = $_.Exception.GetBaseException()
  $answer = @{ code = ($cause.HResult -band 0xffff); detail = [string]$cause.ExtendedErrorMessage }
}
`,
);

/** `{user, password}` -> `{trusted}`: recreates the secure channel, with a new password of the computer account. */
export const REPAIR_SECURE_CHANNEL = windowsScript(
  'repair-secure-channel',
  `
$secret = [Security.SecureString]::new()
foreach ($character in ([string]$request.password).ToCharArray()) { $secret.AppendChar($character) }
$answer = @{ trusted = [bool](Test-ComputerSecureChannel -Repair -Credential ([Management.Automation.PSCredential]::new([string]$request.user, $secret))) }
`,
);

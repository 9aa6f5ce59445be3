import { windowsScript } from './powershell.ts';

/**
 * `{name}` -> `{code, pending}`. Win32_ComputerSystem.Rename returns a Win32 error number, the same in every language;
 * the name takes effect at the next start.
 */
export const RENAME_COMPUTER = windowsScript(
  'rename-computer',
  `
$computer = Get-CimInstance -ClassName Win32_ComputerSystem
$result = Invoke-CimMethod -InputObject $computer -MethodName Rename -Arguments @{ Name = $request.name }
$pending = (Get-ItemProperty -LiteralPath 'HKLM:\\SYSTEM\\CurrentControlSet\\Control\\ComputerName\\ComputerName').ComputerName
$answer = @{ code = $result.ReturnValue; pending = $pending }
`,
);

/** `{}` -> `{type, servers}` of the Windows Time service (learn.microsoft.com, "Windows Time service tools and settings"). */
export const READ_TIME = windowsScript(
  'read-time',
  `
$time = Get-ItemProperty -LiteralPath 'HKLM:\\SYSTEM\\CurrentControlSet\\Services\\W32Time\\Parameters'
$answer = @{ type = $time.Type; servers = $time.NtpServer }
`,
  { reads: true },
);

/** `{servers}` -> the same as \`read-time\`, read back. The service reads it when it starts. */
export const WRITE_TIME = windowsScript(
  'write-time',
  `
$key = 'HKLM:\\SYSTEM\\CurrentControlSet\\Services\\W32Time\\Parameters'
Set-ItemProperty -LiteralPath $key -Name NtpServer -Value $request.servers
Set-ItemProperty -LiteralPath $key -Name Type -Value 'NTP'
$time = Get-ItemProperty -LiteralPath $key
$answer = @{ type = $time.Type; servers = $time.NtpServer }
`,
);

/**
 * `{services, names}` -> `{machine: {NAME: value}, services: [{name, exists, lines}]}`. A service's own variables are
 * in the value Environment of its key, one NAME=value each (learn.microsoft.com, "Services registry tree").
 */
export const READ_ENVIRONMENT = windowsScript(
  'read-environment',
  `
$machine = @{}
foreach ($name in $request.names) { $machine[$name] = [Environment]::GetEnvironmentVariable($name, 'Machine') }
$services = @(foreach ($name in $request.services) {
  $key = 'HKLM:\\SYSTEM\\CurrentControlSet\\Services\\' + $name
  if (Test-Path -LiteralPath $key) { @{ name = $name; exists = $true; lines = @((Get-Item -LiteralPath $key).GetValue('Environment', @())) } }
  else { @{ name = $name; exists = $false; lines = @() } }
})
$answer = @{ machine = $machine; services = $services }
`,
  { reads: true },
);

/** `{service, lines}` -> `{lines}`, read back. No lines: the value is removed. */
export const WRITE_SERVICE_ENVIRONMENT = windowsScript(
  'write-service-environment',
  `
$key = 'HKLM:\\SYSTEM\\CurrentControlSet\\Services\\' + $request.service
if (@($request.lines).Count -eq 0) { Remove-ItemProperty -LiteralPath $key -Name Environment -ErrorAction SilentlyContinue }
else { [void](New-ItemProperty -LiteralPath $key -Name Environment -PropertyType MultiString -Value ([string[]]@($request.lines)) -Force) }
$answer = @{ lines = @((Get-Item -LiteralPath $key).GetValue('Environment', @())) }
`,
);

/** `{variables: [{name, value}]}` -> `{written}`. A value of null removes the machine's variable. */
export const WRITE_MACHINE_ENVIRONMENT = windowsScript(
  'write-machine-environment',
  `
$written = @(foreach ($variable in $request.variables) {
  [Environment]::SetEnvironmentVariable($variable.name, $variable.value, 'Machine')
  if ([Environment]::GetEnvironmentVariable($variable.name, 'Machine') -cne $variable.value) { throw ('the variable ' + $variable.name + ' was not kept') }
  $variable.name
})
$answer = @{ written = $written }
`,
);

/** `{}` -> `[{sha256, thumbprint, name}]`: the authorities that this machine trusts, with their friendly names. */
export const READ_AUTHORITIES = windowsScript(
  'read-authorities',
  `
$sha256 = [Security.Cryptography.SHA256]::Create()
$store = New-Object Security.Cryptography.X509Certificates.X509Store('Root', 'LocalMachine')
$store.Open('ReadOnly')
$answer = @(foreach ($certificate in $store.Certificates) {
  @{ sha256 = ([BitConverter]::ToString($sha256.ComputeHash($certificate.RawData)) -replace '-', '').ToLowerInvariant(); thumbprint = $certificate.Thumbprint; name = $certificate.FriendlyName }
})
$store.Close()
`,
  { reads: true },
);

/** `{add: [{der, name}], remove: [thumbprint]}` -> `{count}` of the store. DER in base64. */
export const CHANGE_AUTHORITIES = windowsScript(
  'change-authorities',
  `
$store = New-Object Security.Cryptography.X509Certificates.X509Store('Root', 'LocalMachine')
$store.Open('ReadWrite')
foreach ($one in $request.add) {
  $certificate = New-Object Security.Cryptography.X509Certificates.X509Certificate2(, [Convert]::FromBase64String($one.der))
  $certificate.FriendlyName = $one.name
  $store.Add($certificate)
}
foreach ($thumbprint in $request.remove) {
  foreach ($certificate in @($store.Certificates | Where-Object { $_.Thumbprint -eq $thumbprint })) { $store.Remove($certificate) }
}
$answer = @{ count = $store.Certificates.Count }
$store.Close()
`,
);

/**
 * `{message, type, id}` -> `{written}`: one entry of the Application log, source `machineadm`. The class is the .NET
 * Framework's, which PowerShell 7 lacks (Microsoft Learn, System.Diagnostics.EventLog). The first entry creates the
 * source.
 */
export const WRITE_EVENT = windowsScript(
  'write-event',
  `
if (-not [Diagnostics.EventLog]::SourceExists('machineadm')) { [Diagnostics.EventLog]::CreateEventSource('machineadm', 'Application') }
[Diagnostics.EventLog]::WriteEntry('machineadm', [string]$request.message, [Diagnostics.EventLogEntryType][string]$request.type, [int]$request.id)
$answer = @{ written = $true }
`,
);

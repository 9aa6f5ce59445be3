import { windowsScript } from './powershell.ts';

/**
 * `{}` -> what is true of this machine.
 *
 * The boot is known by when the first process of the session manager was made: Win32_OperatingSystem.LastBootUpTime is
 * reckoned back from the clock, and moves when the clock is set. The id of the machine is what Windows Setup drew for it
 * (MachineGuid); sysprep /generalize draws a new one. firmware and bootNumber are what the kubelet
 * reports (k/k pkg/kubelet/winstats/perfcounter_nodestats_windows.go). Addresses are those of the interfaces with a default route, without
 * link-local ones. isSystem: S-1-5-18, or a member of the administrators with their rights in force.
 */
export const READ_FACTS = windowsScript(
  'facts',
  `
$system = Get-CimInstance -ClassName Win32_OperatingSystem
$computer = Get-CimInstance -ClassName Win32_ComputerSystem
$first = Get-CimInstance -ClassName Win32_Process -Filter "Name='smss.exe'" | Sort-Object -Property CreationDate | Select-Object -First 1
$version = Get-ItemProperty -LiteralPath 'HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion'
$guid = (Get-ItemProperty -LiteralPath 'HKLM:\\SOFTWARE\\Microsoft\\Cryptography').MachineGuid
$firmware = (Get-ItemProperty -LiteralPath 'HKLM:\\SYSTEM\\HardwareConfig').LastConfig
$number = (Get-ItemProperty -LiteralPath 'HKLM:\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Memory Management\\PrefetchParameters').BootId
$names = Get-ItemProperty -LiteralPath 'HKLM:\\SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters'
$pending = (Get-ItemProperty -LiteralPath 'HKLM:\\SYSTEM\\CurrentControlSet\\Control\\ComputerName\\ComputerName').ComputerName
$routes = @(Get-NetRoute -DestinationPrefix '0.0.0.0/0', '::/0' -ErrorAction SilentlyContinue | Select-Object -ExpandProperty ifIndex -Unique)
$addresses = @(Get-NetIPAddress -ErrorAction SilentlyContinue | Where-Object { $routes -contains $_.InterfaceIndex } | Select-Object -ExpandProperty IPAddress)
$principal = New-Object Security.Principal.WindowsPrincipal([Security.Principal.WindowsIdentity]::GetCurrent())
$answer = @{
  boot = $first.CreationDate.ToUniversalTime().ToString('o')
  machineGuid = $guid
  firmware = [string]$firmware
  bootNumber = [string]$number
  caption = $system.Caption
  version = $system.Version
  build = [string]$version.CurrentBuildNumber + '.' + [string]$version.UBR
  drive = $system.SystemDrive
  hostname = [string]$names.Hostname
  pendingHostname = $pending
  partOfDomain = $computer.PartOfDomain
  domain = $computer.Domain
  addresses = $addresses
  isAdministrator = $principal.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)
}
`,
  { reads: true },
);

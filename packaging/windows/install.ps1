# Installs machineadm for all users, or removes it: .\install.ps1, .\install.ps1 -Uninstall. Needs an elevated session.
# The state under C:\ProgramData\machineadm stays when it is removed, as it says what this machine was made into.
[CmdletBinding()]
param(
    [string] $Destination = (Join-Path $env:ProgramFiles 'machineadm'),
    [switch] $Uninstall
)
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

$identity = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
if (-not $identity.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
    throw 'Run this script as an administrator.'
}

$path = @([Environment]::GetEnvironmentVariable('Path', 'Machine') -split ';' | Where-Object { $_ -and $_ -ne $Destination })
if ($Uninstall) {
    [Environment]::SetEnvironmentVariable('Path', ($path -join ';'), 'Machine')
    if (Test-Path -LiteralPath $Destination) { Remove-Item -LiteralPath $Destination -Recurse -Force }
    Write-Output "Removed machineadm from $Destination."
    return
}

# SHA256SUMS lies beside this script and has a line for each file of the archive.
foreach ($line in Get-Content -LiteralPath (Join-Path $PSScriptRoot 'SHA256SUMS')) {
    $expected, $name = $line -split '  ', 2
    $actual = (Get-FileHash -Algorithm SHA256 -LiteralPath (Join-Path $PSScriptRoot $name)).Hash
    if ($actual -ne $expected) { throw "$name is not the file of the release: unpack the archive again." }
}

# Below Program Files only administrators may write, and so may nobody else replace what runs as SYSTEM.
New-Item -ItemType Directory -Force -Path $Destination | Out-Null
Copy-Item -Force -LiteralPath (Join-Path $PSScriptRoot 'machineadm.exe') -Destination (Join-Path $Destination 'machineadm.exe.new')
Move-Item -Force -LiteralPath (Join-Path $Destination 'machineadm.exe.new') -Destination (Join-Path $Destination 'machineadm.exe')
Copy-Item -Force -LiteralPath (Join-Path $PSScriptRoot 'LICENSES.txt') -Destination $Destination
[Environment]::SetEnvironmentVariable('Path', (($path + $Destination) -join ';'), 'Machine')
& (Join-Path $Destination 'machineadm.exe') version

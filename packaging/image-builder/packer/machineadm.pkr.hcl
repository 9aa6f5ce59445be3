# An example that prepares a machine that is there already, over SSH:
#
#   packer build -var host=192.0.2.10 -var 'binary=../../../dist/machineadm-linux-amd64' .
#
# A build of an image has a source of its own (amazon-ebs, vsphere-iso, qemu, ...) in the place of "null"; the provisioners stay,
# the last ones of the build.
variable "host" {
  type        = string
  description = "The address of the machine."
}

variable "user" {
  type        = string
  default     = "root"
  description = "Who logs in; with the right to use sudo, where it is not root."
}

variable "binary" {
  type        = string
  description = "The program for the machine's architecture."
}

variable "document" {
  type        = string
  default     = "../base.yaml"
  description = "What the images have in common (machineadm prepare)."
}

source "null" "machine" {
  ssh_host       = var.host
  ssh_username   = var.user
  ssh_agent_auth = true
}

build {
  sources = ["source.null.machine"]

  provisioner "file" {
    source      = var.binary
    destination = "/tmp/machineadm"
  }

  provisioner "file" {
    source      = var.document
    destination = "/tmp/base.yaml"
  }

  provisioner "shell" {
    execute_command = "sudo env {{ .Vars }} sh {{ .Path }}"
    inline = [
      "install -m 0755 /tmp/machineadm /usr/local/bin/machineadm",
      "rm /tmp/machineadm",
    ]
  }

  # prepare.sh deletes the document when it is done.
  provisioner "shell" {
    script           = "prepare.sh"
    environment_vars = ["MACHINEADM_DOCUMENT=/tmp/base.yaml"]
    execute_command  = "sudo env {{ .Vars }} sh {{ .Path }}"
  }
}
